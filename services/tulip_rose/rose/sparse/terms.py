"""`Terms`: weights of terms of several rows, and how they lie in memory, one run of bytes a row. Knows no model."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tulip_rose.rose.layers.head import Made

_WORD = 4
"""Bytes of a count, of a term and of a weight."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Of R rows, one after the other, terms ascending within each."""

    counts: Tensor
    """int64 [R]: terms of each row."""
    terms: Tensor
    """int64 [N]."""
    weights: Tensor
    """float32 [N], above 0."""

    @classmethod
    def of_dense(cls, rows: Tensor, most: int) -> "Terms":
        """The positive values of rows.

        Args:
            rows: float32 [R, vocabulary], finite.
            most: terms that a row keeps, those of the largest weights; of equal ones the lower terms.
        """
        if most < rows.shape[1]:
            rows = _largest(rows, most)
        row, terms = (rows > 0).nonzero(as_tuple=True)
        return cls(torch.bincount(row, minlength=rows.shape[0]), terms, rows[row, terms])

    @classmethod
    def joined(cls, pieces: Sequence["Terms"]) -> "Terms":
        """The rows of all pieces, in order; at least one."""
        if len(pieces) == 1:
            return pieces[0]
        return cls(*(torch.cat([getattr(each, field) for each in pieces]) for field in ("counts", "terms", "weights")))

    def packed(self, finite: Tensor) -> Made:
        """Each row as its count, its terms and its weights, four bytes a value; see the wire's kind SPARSE."""
        starts = torch.zeros(self.counts.shape[0] + 1, dtype=torch.int64, device=self.counts.device)
        torch.cumsum(1 + 2 * self.counts, 0, out=starts[1:])
        words = torch.empty(int(starts[-1]), dtype=torch.int32, device=self.counts.device)
        words[starts[:-1]] = self.counts.int()
        # The k-th value of all rows lies behind the words of the rows before its own, and behind its own count.
        before = torch.repeat_interleave(starts[:-1] + 1 - (self.counts.cumsum(0) - self.counts), self.counts)
        places = before + torch.arange(self.terms.shape[0], device=before.device)
        words[places] = self.terms.int()
        words[places + torch.repeat_interleave(self.counts, self.counts)] = self.weights.view(torch.int32)
        return Made(words.view(torch.uint8), finite, starts * _WORD)


def _largest(rows: Tensor, most: int) -> Tensor:
    """The same rows with zeros for all but their `most` largest values."""
    order = rows.argsort(dim=1, descending=True, stable=True)[:, :most]
    return torch.zeros_like(rows).scatter_(1, order, rows.gather(1, order))
