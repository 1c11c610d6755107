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

    @classmethod
    def of(cls, lengths: Sequences[int], seen: Sequences[int] = ()) -> "Ragged":
        """Sequences of these lengths, ascending; of each the first `seen` tokens are seen, where not all of all are."""
        starts = np.zeros(len(lengths) + 1, dtype=np.int32)
        np.asarray(lengths, dtype=np.int32).cumsum(out=starts[1:])
        partly = np.asarray(seen, dtype=np.int32) if len(seen) else None
        return cls(torch.from_numpy(starts), int(starts[-1]), lengths[-1], partly)

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
    """int32 [R, 2], on the host: begin and end of each span, in order of slot."""

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

    def to(self, device: torch.device) -> "Batch":
        """The same batch with its tensors on `device`."""
        if self.token_ids.device == device:
            return self
        return self._with(lambda tensor: tensor.to(device, non_blocking=True))

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
        lengths = [sequence.token_ids.size for sequence in sequences]
        unseen = [sequence.unseen for sequence in sequences]
        order: Sequences[int] = range(len(sequences))
        slots = sequences
        if len(slots) > 1:
            order = _order(lengths, unseen)
            slots = [sequences[index] for index in order]
            lengths = [lengths[index] for index in order]
        seen = [each.tokens - each.unseen for each in slots] if any(unseen) else ()
        ragged = Ragged.of(lengths, seen)
        begins = ragged.starts.numpy()[:-1]
        parts, places = _parts(slots, begins, order)
        return cls(
            token_ids=torch.from_numpy(_joined([each.token_ids for each in slots])),
            positions=torch.from_numpy(_positions(ragged.tokens, begins, lengths)),
            token_types=_types(slots),
            ragged=ragged,
            parts=parts,
            places=places,
        )


def _order(lengths: list[int], unseen: list[int]) -> Sequences[int]:
    """Which sequence lies in each slot."""
    if any(unseen):
        return sorted(range(len(lengths)), key=lambda index: (lengths[index], unseen[index]))
    return sorted(range(len(lengths)), key=lengths.__getitem__)


def _slots_of(order: Sequences[int]) -> Sequences[int]:
    """In which slot each sequence lies."""
    slots = [0] * len(order)
    for slot, index in enumerate(order):
        slots[index] = slot
    return slots


def _joined(arrays: list[NDArray[Any]]) -> NDArray[np.int64]:
    whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    return whole.astype(np.int64)


def _positions(tokens: int, begins: NDArray[np.int32], lengths: list[int]) -> NDArray[np.int64]:
    positions = np.arange(tokens)
    if len(lengths) > 1:
        # Of one type, so that nothing is cast on the way.
        positions -= np.repeat(begins.astype(np.int64), lengths)
    return positions


def _types(slots: Sequences[Sequence]) -> Tensor | None:
    if all([each.token_types is None for each in slots]):  # noqa: C419 (a list is met in half the time)
        return None
    return torch.from_numpy(
        _joined([np.zeros(each.tokens, np.uint8) if each.token_types is None else each.token_types for each in slots])
    )


def _parts(
    slots: Sequences[Sequence], begins: NDArray[np.int32], order: Sequences[int]
) -> tuple[tuple[Part, ...], Places]:
    """The rows of each form, and where each sequence finds its own."""
    spans = _single(slots)
    if spans is None:
        return _several(slots, begins.tolist(), order)
    bounds = _bounds(spans)
    bounds += begins[:, None]
    return (Part(slots[0].wants[0].form, torch.from_numpy(bounds)),), Single(_slots_of(order))


def _single(slots: Sequences[Sequence]) -> list[Span] | None:
    """The spans, where each sequence has one and all are wanted in one form."""
    form = slots[0].wants[0].form
    spans = []
    for sequence in slots:
        want = sequence.wants[0]
        if len(sequence.wants) > 1 or len(want.spans) != 1 or (want.form is not form and want.form != form):
            return None
        spans.append(want.spans[0])
    return spans


def _several(slots: Sequences[Sequence], begins: list[int], order: Sequences[int]) -> tuple[tuple[Part, ...], Places]:
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
    return parts, tuple(by_slot[slot] for slot in _slots_of(order))


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
