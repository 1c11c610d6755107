"""`Terms`: weights of terms of several rows, and how they lie in memory, one run of bytes a row. Knows no model.

All of it is the host's: how many terms there are decides how long everything is, and a device that was asked for that
number would have to be waited for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tulip_rose.rose.lazy import Part

_WORD = 4
"""Bytes of a count, of a term and of a weight."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Of R rows, one after the other, terms ascending within each."""

    counts: NDArray[np.int64]
    """[R]: terms of each row."""
    terms: NDArray[np.int64]
    """[N]."""
    weights: NDArray[np.float32]
    """[N], above 0."""

    @classmethod
    def of_dense(cls, rows: NDArray[np.float32]) -> "Terms":
        """The positive values of rows [R, vocabulary], all finite."""
        flat = rows.reshape(-1)
        places = np.flatnonzero(flat > 0)
        row, terms = np.divmod(places, rows.shape[1])
        return cls(np.bincount(row, minlength=rows.shape[0]), terms, flat[places])

    def packed(self, finite: NDArray[np.bool_]) -> Part:
        """Each row as its count, its terms and its weights, four bytes a value; see the wire's kind SPARSE."""
        starts = np.zeros(self.counts.shape[0] + 1, np.int64)
        np.cumsum(1 + 2 * self.counts, out=starts[1:])
        words = np.empty(int(starts[-1]), np.int32)
        words[starts[:-1]] = self.counts
        # The k-th value of all rows lies behind the words of the rows before its own, and behind its own count.
        before = np.repeat(starts[:-1] + 1 - (np.cumsum(self.counts) - self.counts), self.counts)
        places = before + np.arange(self.terms.shape[0])
        words[places] = self.terms
        words[places + np.repeat(self.counts, self.counts)] = self.weights.view(np.int32)
        return Part(words.view(np.uint8), finite, starts * _WORD)


def pack_dense(part: Part) -> Part:
    """Rows of weights, one a term, that a device has made and that are in memory of the host."""
    return Terms.of_dense(part.rows).packed(part.finite.copy())
