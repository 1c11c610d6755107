"""`Batch`: sequences packed as ragged tensors, nothing padded between them.

Real tokens come first; rows that a bucket asks for beyond them (`padded`) hold a valid id, attend to nothing and are
pooled by no span.

Inside a batch the order is free, so sequences lie sorted by length: those of one length are neighbours, and attention
and pooling see each such group as a dense view, without a gather. `places` remembers who is where.
"""

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Sequences
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from tulip_rose.rose.lazy import Place
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


@dataclass(frozen=True, slots=True)
class Ragged:
    """Where sequences lie that follow one another from the first row on, sorted by length."""

    groups: tuple[Group, ...]
    """Those of equal length as one, ascending."""
    starts: Tensor
    """int32 [S + 1], on the host: the first token of each, and the end of the last."""
    tokens: int
    longest: int
    partly_seen: tuple[tuple[Group, int], ...] = ()
    """Where some have tokens at their end that none sees: all of them, those of equal length of which as many are seen
    as one, and how many that is."""
    seen: Tensor | None = None
    """int32 [S]: how many tokens of each are seen. Only where lengths are not known before the step runs: there are
    then no groups, `starts` lies where the step reads it, and `longest` is the longest that may come."""

    @classmethod
    def of(cls, lengths: Sequences[int], seen: Sequences[int] = ()) -> "Ragged":
        """Sequences of these lengths, ascending; of each the first `seen` tokens are seen, where not all of all are."""
        starts = np.zeros(len(lengths) + 1, dtype=np.int32)
        np.cumsum(lengths, out=starts[1:])
        groups = neighbours(zip(starts.tolist(), lengths, strict=False))
        partly = alike(starts.tolist(), lengths, seen) if seen else ()
        return cls(tuple(groups), torch.from_numpy(starts), int(starts[-1]), lengths[-1], tuple(partly))

    @property
    def views(self) -> tuple[tuple[Group, int], ...]:
        """Sequences that see alike as one, and how many tokens of each are seen: the first ones."""
        return self.partly_seen or tuple((group, group.length) for group in self.groups)


@dataclass(frozen=True, slots=True)
class Part:
    """All rows of one output form."""

    form: OutputForm
    spans: tuple[Group, ...]
    """The spans to pool, in order of slot; neighbours of equal length as one."""
    bounds: Tensor
    """int32 [R, 2], on the host: begin and end of each span."""

    @classmethod
    def of(cls, form: OutputForm, spans: Sequences[Span]) -> "Part":
        """At least one span, in tokens of the batch."""
        runs = neighbours((begin, end - begin) for begin, end in spans)
        return cls(form, tuple(runs), torch.tensor(spans, dtype=torch.int32))


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
    places: tuple[tuple[Place, ...], ...]
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
        order = sorted(range(len(sequences)), key=lambda index: (sequences[index].tokens, sequences[index].unseen))
        slots = [sequences[index] for index in order]
        lengths = [sequence.tokens for sequence in slots]
        ragged = Ragged.of(lengths, _seen(slots))
        starts = ragged.starts.numpy()
        parts, places = _parts(slots, starts.tolist())
        return cls(
            token_ids=torch.from_numpy(np.concatenate([each.token_ids for each in slots], dtype=np.int64)),
            positions=torch.from_numpy(np.arange(ragged.tokens) - np.repeat(starts[:-1], lengths)),
            token_types=_types(slots),
            ragged=ragged,
            parts=parts,
            places=tuple(place for _, place in sorted(zip(order, places, strict=True))),
        )


def _seen(slots: list[Sequence]) -> list[int]:
    """How many tokens of each are seen; empty where all are."""
    return [each.tokens - each.unseen for each in slots] if any(each.unseen for each in slots) else []


def _types(slots: list[Sequence]) -> Tensor | None:
    if all(each.token_types is None for each in slots):
        return None
    types = [np.zeros(each.tokens, np.uint8) if each.token_types is None else each.token_types for each in slots]
    return torch.from_numpy(np.concatenate(types, dtype=np.int64))


def _parts(slots: list[Sequence], begins: list[int]) -> tuple[tuple[Part, ...], list[tuple[Place, ...]]]:
    """The rows of each form, and where each slot finds its own."""
    spans: dict[OutputForm, list[Span]] = {}
    places = []
    for sequence, start in zip(slots, begins, strict=False):
        own = []
        for want in sequence.wants:
            found = spans.setdefault(want.form, [])
            own.append((want.form, len(found), len(want.spans)))
            found += [(start + begin, start + end) for begin, end in want.spans]
        places.append(own)
    index = {form: number for number, form in enumerate(spans)}
    parts = tuple(Part.of(form, found) for form, found in spans.items())
    return parts, [tuple(Place(index[form], first, count) for form, first, count in own) for own in places]


def alike(starts: Sequences[int], lengths: Sequences[int], seen: Sequences[int]) -> Iterable[tuple[Group, int]]:
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
