"""`Batch`: sequences packed as ragged tensors, nothing padded between them.

Real tokens come first; rows that a bucket asks for beyond them hold a valid id, attend to nothing and are pooled by no
span.

Inside a batch the order is free, so sequences lie sorted by length: those of one length are neighbours, and attention
and pooling see each such group as a dense view, without a gather. `order` remembers who is where.
"""

from collections.abc import Iterable
from collections.abc import Sequence as Sequences
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tulip_rose.rose.buckets import bucket_tokens
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
class Batch:
    """What one step computes. T tokens, S sequences, R rows; sequence `order[slot]` of the caller lies in `slot`."""

    token_ids: Tensor
    """int64 [T], T a bucket."""
    positions: Tensor
    """int64 [T]: 0, 1, 2, … within each sequence."""
    groups: tuple[Group, ...]
    """Sequences of equal length, ascending; they cover all real tokens."""
    spans: tuple[Group, ...]
    """The spans to pool, in order of slot; neighbours of equal length as one."""
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
        begins = list(accumulate(lengths, initial=0))
        tokens = begins.pop()
        rows = bucket_tokens(tokens)
        return cls(
            token_ids=torch.from_numpy(_token_ids(slots, tokens, rows)),
            positions=torch.from_numpy(_positions([*lengths, rows - tokens])),
            groups=tuple(_neighbours(zip(begins, lengths, strict=True))),
            spans=tuple(_neighbours(_spans(slots, begins))),
            order=tuple(order),
            rows=tuple(len(sequence.spans) for sequence in slots),
            forms=tuple(sequence.form for sequence in slots),
        )


def _token_ids(slots: list[Sequence], tokens: int, rows: int) -> NDArray[np.int64]:
    ids = np.zeros(rows, dtype=np.int64)
    np.concatenate([sequence.token_ids for sequence in slots], out=ids[:tokens])
    return ids


def _positions(lengths: list[int]) -> NDArray[np.int64]:
    begins = list(accumulate(lengths, initial=0))
    rows = begins.pop()
    return np.arange(rows, dtype=np.int64) - np.repeat(np.asarray(begins, dtype=np.int64), lengths)


def _spans(slots: list[Sequence], begins: list[int]) -> Iterable[tuple[int, int]]:
    for sequence, start in zip(slots, begins, strict=True):
        for begin, end in sequence.spans:
            yield start + begin, end - begin


def _neighbours(runs: Iterable[tuple[int, int]]) -> Iterable[Group]:
    """Join runs `(begin, length)` of one length that touch."""
    ranked = ((begin, length, index) for index, (begin, length) in enumerate(runs))
    for (_, length), found in groupby(ranked, key=lambda run: (run[0] - run[2] * run[1], run[1])):
        begin, *rest = [run[0] for run in found]
        yield Group(begin, 1 + len(rest), length)
