"""`Batch`: sequences packed as ragged tensors, nothing padded between them.

Real tokens come first; rows that a bucket asks for beyond them (`padded`) hold a valid id, attend to nothing and are
pooled by no span.

Inside a batch the order is free, so sequences lie sorted by length: those of one length are neighbours, and attention
and pooling see each such group as a dense view, without a gather. `places` remembers who is where.

Packing is done for every step while the device may be waiting, so sequences are met in few passes, and what only some
devices ask for (groups, spans) is made when they ask.
"""

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Sequences
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from tulip_rose.rose.lazy import Place, Places, Single
from tulip_rose.sequence import OutputForm, Sequence, Span


@dataclass(frozen=True, slots=True)
class Group:
    """`count` neighbours of `length` tokens each, the first at token `begin`."""

    begin: int
    count: int
    length: int

    @property
    def end(self) -> int:
        """The token after the last."""
        return self.begin + self.count * self.length


Lengths = Sequences[int] | NDArray[np.int64]

Load = Callable[[Tensor], Tensor]
"""From the host to where states are, by way of memory that is pinned: nobody waits for the copy."""

Order = NDArray[np.int64] | None
"""Which of the caller's sequences lies in each slot; None where there is one alone."""

View = tuple[Group, int]
"""Neighbours that see alike, and how many tokens of each are seen: the first ones."""


@dataclass(frozen=True, eq=False)
class Ragged:
    """Where sequences lie that follow one another from the first row on, sorted by length."""

    starts: Tensor
    """int32 [S + 1], on the host: the first token of each, and the end of the last."""
    tokens: int
    longest: int
    partly: NDArray[np.int32] | None = None
    """int32 [S]: how many tokens of each are seen, where some have tokens at their end that none sees."""
    seen: Tensor | None = None
    """int32 [S]: how many tokens of each are seen. Only where lengths are not known before the step runs: there are
    then no groups, `starts` lies where the step reads it, and `longest` is the longest that may come."""
    pads: int = 0
    """Rows of the longest sequence of pads that may come; it may have more than a model has positions."""
    load: Load | None = None
    """Makes what lies on the host lie beside the states, where that is elsewhere."""

    @classmethod
    def of(cls, lengths: Lengths, seen: Lengths = ()) -> "Ragged":
        """Sequences of these lengths, ascending; of each the first `seen` tokens are seen, where not all of all are."""
        starts = np.zeros(len(lengths) + 1, dtype=np.int32)
        np.add.accumulate(lengths, dtype=np.int32, out=starts[1:])
        partly = np.asarray(seen, dtype=np.int32) if len(seen) else None
        return cls(torch.from_numpy(starts), int(starts[-1]), int(lengths[-1]), partly)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Those of equal length as one, ascending."""
        if self.seen is not None:
            return ()
        starts = self.starts.numpy()
        return tuple(neighbours(zip(starts.tolist(), np.diff(starts).tolist(), strict=False)))

    @cached_property
    def partly_seen(self) -> tuple[View, ...]:
        """Where some have tokens at their end that none sees: all sequences."""
        if self.partly is None:
            return ()
        starts = self.starts.numpy()
        return tuple(alike(starts.tolist(), np.diff(starts).tolist(), self.partly.tolist()))

    @property
    def views(self) -> tuple[View, ...]:
        """Sequences that see alike as one, and how many tokens of each are seen: the first ones."""
        return self.partly_seen or tuple((group, group.length) for group in self.groups)


@dataclass(frozen=True, eq=False)
class Part:
    """All rows of one output form."""

    form: OutputForm
    bounds: Tensor
    """int32 [R, 2]: begin and end of each span, in order of slot; on the host, but for a step over static buffers."""
    load: Load | None = None
    """As in `Ragged`."""

    @cached_property
    def placed(self) -> Tensor:
        """The bounds, beside the states."""
        return self.bounds if self.load is None else self.load(self.bounds)

    @cached_property
    def spans(self) -> tuple[Group, ...]:
        """The spans to pool; neighbours of equal length as one."""
        return tuple(neighbours((begin, end - begin) for begin, end in self.bounds.tolist()))


@dataclass(frozen=True, slots=True)
class Batch:
    """What one step computes. T tokens, S sequences; a slot is a sequence's place among those sorted by length."""

    token_ids: Tensor
    """int64 [T]."""
    positions: Tensor
    """int64 [T]: 0, 1, 2, … within each sequence."""
    token_types: Tensor | None
    """int64 [T]; None: all are 0."""
    ragged: Ragged
    """Where the sequences lie; they cover all real tokens."""
    parts: tuple[Part, ...]
    """The rows to make, those of one form together."""
    places: Places
    """Where each sequence, in the caller's order, finds the rows of each of its wants."""

    def to(self, device: torch.device, load: Load) -> "Batch":
        """The same batch with its tensors on `device`, where `load` brings them; the rest when somebody asks for it."""
        if self.token_ids.device == device:
            return self
        parts = tuple(replace(part, load=load) for part in self.parts)
        return replace(self._with(load), ragged=replace(self.ragged, load=load), parts=parts)

    def padded(self, rows: int) -> "Batch":
        """The same batch with that many token rows, at least as many as it has."""
        more = (0, rows - self.token_ids.shape[0])
        return self._with(lambda tensor: pad(tensor, more))

    def _with(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        types = None if self.token_types is None else change(self.token_types)
        return replace(self, token_ids=change(self.token_ids), positions=change(self.positions), token_types=types)

    @classmethod
    def pack(cls, sequences: Sequences[Sequence]) -> "Batch":
        """Pack at least one sequence.

        Raises:
            ValueError: there is no sequence.
        """
        if not sequences:
            raise ValueError("a batch has at least one sequence")
        arrays: Sequences[NDArray[np.int32]] = [sequence.token_ids for sequence in sequences]
        unseen = [sequence.unseen for sequence in sequences]
        order, lengths = _order(arrays, unseen)
        if order is not None:
            arrays = itemgetter(*order.tolist())(arrays)
        seen = _seen(lengths, unseen, order) if any(unseen) else ()
        ragged = Ragged.of(lengths, seen)
        begins = ragged.starts.numpy()[:-1]
        parts, places = _parts(sequences, begins, order)
        return cls(
            token_ids=torch.from_numpy(_joined(arrays)),
            positions=torch.from_numpy(_positions(ragged.tokens, begins, lengths)),
            token_types=_types(sequences, order),
            ragged=ragged,
            parts=parts,
            places=places,
        )


def _order(arrays: Sequences[NDArray[np.int32]], unseen: list[int]) -> tuple[Order, Lengths]:
    """Which sequence lies in each slot, and how many tokens lie there."""
    if len(arrays) == 1:
        return None, (len(arrays[0]),)
    lengths = np.fromiter(map(len, arrays), np.int64, len(arrays))
    order = np.lexsort((np.asarray(unseen), lengths)) if any(unseen) else lengths.argsort(kind="stable")
    return order, lengths[order]


def _seen(lengths: Lengths, unseen: list[int], order: Order) -> NDArray[np.int64]:
    """How many tokens are seen in each slot."""
    own = np.asarray(unseen, np.int64)
    return np.asarray(lengths, np.int64) - (own if order is None else own[order])


def _slots_of(order: Order) -> Sequences[int]:
    """In which slot each sequence lies."""
    if order is None:
        return (0,)
    slots = np.empty_like(order)
    slots[order] = np.arange(order.shape[0])
    found: list[int] = slots.tolist()
    return found


def _joined(arrays: Sequences[NDArray[Any]]) -> NDArray[np.int64]:
    whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    return whole.astype(np.int64)


def _positions(tokens: int, begins: NDArray[np.int32], lengths: Lengths) -> NDArray[np.int64]:
    positions = np.arange(tokens)
    if len(lengths) > 1:
        # Of one type, so that nothing is cast on the way.
        positions -= begins.astype(np.int64).repeat(lengths)
    return positions


def _types(sequences: Sequences[Sequence], order: Order) -> Tensor | None:
    if all([each.token_types is None for each in sequences]):  # noqa: C419 (a list is met in half the time)
        return None
    slots = _in_order(sequences, order)
    return torch.from_numpy(
        _joined([np.zeros(each.tokens, np.uint8) if each.token_types is None else each.token_types for each in slots])
    )


def _in_order(sequences: Sequences[Sequence], order: Order) -> Sequences[Sequence]:
    """The sequence in each slot."""
    return sequences if order is None else [sequences[index] for index in order.tolist()]


def _parts(sequences: Sequences[Sequence], begins: NDArray[np.int32], order: Order) -> tuple[tuple[Part, ...], Places]:
    """The rows of each form, and where each sequence finds its own."""
    forms = [each.form for each in sequences]
    form = forms[0]
    # Equal ones are mostly one and the same.
    if form is None or forms.count(form) < len(forms):
        return _several(_in_order(sequences, order), begins.tolist(), _slots_of(order))
    packed = np.fromiter([each.span for each in sequences], np.int64, len(forms))
    bounds = (packed if order is None else packed[order]).view(np.int32).reshape(-1, 2)
    bounds += begins[:, None]
    return (Part(form, torch.from_numpy(bounds)),), Single(_slots_of(order))


def _several(
    slots: Sequences[Sequence], begins: list[int], slots_of: Sequences[int]
) -> tuple[tuple[Part, ...], Places]:
    spans: dict[OutputForm, list[Span]] = {}
    places = []
    for sequence, start in zip(slots, begins, strict=True):
        own = []
        for want in sequence.wants:
            found = spans.setdefault(want.form, [])
            own.append((want.form, len(found), len(want.spans)))
            found += [(start + begin, start + end) for begin, end in want.spans]
        places.append(own)
    index = {form: number for number, form in enumerate(spans)}
    by_slot = [tuple(Place(index[form], first, count) for form, first, count in own) for own in places]
    parts = tuple(Part(form, torch.from_numpy(_bounds(found))) for form, found in spans.items())
    return parts, tuple(by_slot[slot] for slot in slots_of)


def _bounds(spans: list[Span]) -> NDArray[np.int32]:
    """[R, 2]."""
    return np.fromiter(chain.from_iterable(spans), np.int32, 2 * len(spans)).reshape(-1, 2)


def alike(starts: Sequences[int], lengths: Sequences[int], seen: Sequences[int]) -> Iterable[View]:
    """Neighbours of one length of which as many tokens are seen."""
    for (length, count), found in groupby(zip(starts, lengths, seen, strict=False), key=lambda each: each[1:]):
        begin, *rest = [start for start, _, _ in found]
        yield Group(begin, 1 + len(rest), length), count


def neighbours(runs: Iterable[tuple[int, int]]) -> Iterable[Group]:
    """Join runs `(begin, length)` of one length that touch."""
    ranked = ((begin, length, index) for index, (begin, length) in enumerate(runs))
    for (_, length), found in groupby(ranked, key=lambda run: (run[0] - run[2] * run[1], run[1])):
        begin, *rest = [run[0] for run in found]
        yield Group(begin, 1 + len(rest), length)
