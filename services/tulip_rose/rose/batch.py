"""`Batch`: sequences packed as ragged tensors, nothing padded between them.

Real tokens come first; rows that a bucket asks for beyond them (`padded`) hold a valid id, attend to nothing and are
pooled by no span.

Inside a batch the order is free, so sequences lie sorted by length: those of one length are neighbours, and attention
and pooling see each such group as a dense view, without a gather. `order` remembers who is where.
"""

from collections.abc import Iterable
from collections.abc import Sequence as Sequences
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from tulip_rose.sequence import OutputForm, Sequence


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

    @classmethod
    def of(cls, lengths: Sequences[int]) -> "Ragged":
        """Sequences of these lengths, ascending."""
        starts = np.zeros(len(lengths) + 1, dtype=np.int32)
        np.cumsum(lengths, out=starts[1:])
        groups = _neighbours(zip(starts.tolist(), lengths, strict=False))
        return cls(tuple(groups), torch.from_numpy(starts), int(starts[-1]), lengths[-1])


@dataclass(frozen=True, slots=True)
class Batch:
    """What one step computes. T tokens, S sequences, R rows; sequence `order[slot]` of the caller lies in `slot`."""

    token_ids: Tensor
    """int64 [T]."""
    positions: Tensor
    """int64 [T]: 0, 1, 2, … within each sequence."""
    ragged: Ragged
    """Where the sequences lie; they cover all real tokens."""
    spans: tuple[Group, ...]
    """The spans to pool, in order of slot; neighbours of equal length as one."""
    bounds: Tensor
    """int32 [R, 2], on the host: begin and end of each span."""
    order: tuple[int, ...]
    rows: tuple[int, ...]
    """Rows of each slot."""
    forms: tuple[OutputForm, ...]
    """Wanted of each slot."""

    def to(self, device: torch.device) -> "Batch":
        """The same batch with its tensors on `device`."""
        if self.token_ids.device == device:
            return self
        ids, positions = (x.to(device, non_blocking=True) for x in (self.token_ids, self.positions))
        return replace(self, token_ids=ids, positions=positions)

    def padded(self, rows: int) -> "Batch":
        """The same batch with that many token rows, at least as many as it has."""
        more = (0, rows - self.token_ids.shape[0])
        return replace(self, token_ids=pad(self.token_ids, more), positions=pad(self.positions, more))

    @classmethod
    def pack(cls, sequences: Sequences[Sequence]) -> "Batch":
        """Pack at least one sequence.

        Raises:
            ValueError: there is no sequence.
        """
        if not sequences:
            raise ValueError("a batch has at least one sequence")
        order = sorted(range(len(sequences)), key=lambda index: sequences[index].tokens)
        slots = [sequences[index] for index in order]
        lengths = [sequence.tokens for sequence in slots]
        ragged = Ragged.of(lengths)
        starts = ragged.starts.numpy()
        spans = list(_spans(slots, starts.tolist()))
        return cls(
            token_ids=torch.from_numpy(np.concatenate([each.token_ids for each in slots], dtype=np.int64)),
            positions=torch.from_numpy(np.arange(ragged.tokens) - np.repeat(starts[:-1], lengths)),
            ragged=ragged,
            spans=tuple(_neighbours(spans)),
            bounds=torch.tensor([(begin, begin + length) for begin, length in spans], dtype=torch.int32),
            order=tuple(order),
            rows=tuple(len(sequence.spans) for sequence in slots),
            forms=tuple(sequence.form for sequence in slots),
        )


def _spans(slots: list[Sequence], begins: list[int]) -> Iterable[tuple[int, int]]:
    for sequence, start in zip(slots, begins, strict=False):
        for begin, end in sequence.spans:
            yield start + begin, end - begin


def _neighbours(runs: Iterable[tuple[int, int]]) -> Iterable[Group]:
    """Join runs `(begin, length)` of one length that touch."""
    ranked = ((begin, length, index) for index, (begin, length) in enumerate(runs))
    for (_, length), found in groupby(ranked, key=lambda run: (run[0] - run[2] * run[1], run[1])):
        begin, *rest = [run[0] for run in found]
        yield Group(begin, 1 + len(rest), length)
