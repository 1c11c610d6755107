"""`Inputs`: what a model and its heads read of a batch, as tensors.

What only some devices ask for (groups, views, spans) is made when they ask.
"""

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Sequences
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from tulip_rose.rose.batch import Batch
from tulip_rose.sequence import OutputForm


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


Load = Callable[[Tensor], Tensor]
"""From the host to where states are, by way of memory that is pinned: nobody waits for the copy."""

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
    def of(cls, batch: Batch) -> "Ragged":
        """The sequences of a batch, in the same memory."""
        return cls(torch.from_numpy(batch.starts), batch.tokens, batch.longest, batch.partly)

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
class Inputs:
    """Of T tokens in S sequences. Rows that a bucket asks for beyond them hold a valid id and belong to no sequence."""

    token_ids: Tensor
    """int64 [T]."""
    positions: Tensor
    """int64 [T]: 0, 1, 2, … within each sequence."""
    token_types: Tensor | None
    """int64 [T]; None: all are 0."""
    ragged: Ragged
    """Where the sequences lie; they cover all real tokens."""
    parts: tuple[Part, ...] = ()
    """The rows to make, those of one form together; none where only a step over static buffers knows them."""

    @classmethod
    def of(cls, batch: Batch) -> "Inputs":
        """Those of a batch, in the same memory."""
        return cls(
            token_ids=torch.from_numpy(batch.token_ids),
            positions=torch.from_numpy(batch.positions),
            token_types=None if batch.token_types is None else torch.from_numpy(batch.token_types),
            ragged=Ragged.of(batch),
            parts=tuple(Part(part.form, torch.from_numpy(part.bounds)) for part in batch.parts),
        )

    def to(self, device: torch.device, load: Load) -> "Inputs":
        """The same with tensors on `device`, where `load` brings them; the rest when somebody asks for it."""
        if self.token_ids.device == device:
            return self
        parts = tuple(replace(part, load=load) for part in self.parts)
        return replace(self._with(load), ragged=replace(self.ragged, load=load), parts=parts)

    def padded(self, rows: int) -> "Inputs":
        """The same with that many token rows, at least as many as there are."""
        more = (0, rows - self.token_ids.shape[0])
        return self._with(lambda tensor: pad(tensor, more))

    def _with(self, change: Callable[[Tensor], Tensor]) -> "Inputs":
        types = None if self.token_types is None else change(self.token_types)
        return replace(self, token_ids=change(self.token_ids), positions=change(self.positions), token_types=types)


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
