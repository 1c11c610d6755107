"""`Observed`: how often batches of so many sequences and so many tokens were seen. Knows no graphs and no files."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

ANY = 2**31
"""Tokens of the longest sequence where nobody says how long one may be."""
_POINTS, _BESIDE = 400, 21
"""Quantiles of tokens that are taken, and of sequences beside each."""
_TOGETHER = 0.9
"""How much the ranks of tokens and sequences have in common. Graphs that were planned so served 97 to 100 % of the
batches in simulations (bench.simulate_buckets) when 99.9 % were expected; with equal ranks it was less."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """A histogram as metrics keep it: `counts[i]` values above `edges[i - 1]` and up to `edges[i]`.

    Edges are whole numbers above 0, ascending. Values above the last edge are counted as that edge.
    """

    edges: tuple[int, ...]
    counts: tuple[float, ...]

    def at(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """The values that so large shares of all, above 0, do not exceed; inside a bucket values lie evenly."""
        ends = np.cumsum(self.counts)
        targets = shares * ends[-1]
        index = np.searchsorted(ends, targets)
        low, high = np.array((0, *self.edges[:-1]))[index], np.array(self.edges)[index]
        counts = np.array(self.counts)[index]
        values = np.ceil(low + (targets - (ends[index] - counts)) / counts * (high - low))
        found: NDArray[np.int64] = np.clip(values, low + 1, high).astype(np.int64)
        return found


@dataclass(frozen=True, slots=True)
class Observed:
    """Kinds of batches, and how many of each there were; at least one."""

    sequences: NDArray[np.int64]
    tokens: NDArray[np.int64]
    """At least one a sequence."""
    counts: NDArray[np.float64]
    """Above 0."""

    @classmethod
    def of(cls, counts: Mapping[tuple[int, int], float], longest: int = ANY) -> "Observed":
        """Counts by (sequences, tokens), of sequences of at most so many tokens.

        Raises:
            ValueError: nothing was seen, or a batch that cannot be.
        """
        seen = sorted((kind, count) for kind, count in counts.items() if count)
        if not seen:
            raise ValueError("no batch was seen")
        for (sequences, tokens), count in seen:
            if not 1 <= sequences <= tokens or not 0 < count < float("inf"):
                raise ValueError(f"{count:g} batches of {sequences} sequences and {tokens} tokens cannot be")
            if tokens > sequences * longest:
                raise ValueError(f"{sequences} sequences of at most {longest} tokens never have {tokens}")
        kinds = np.array([kind for kind, _ in seen], dtype=np.int64)
        return cls(kinds[:, 0], kinds[:, 1], np.array([count for _, count in seen], dtype=np.float64))

    @classmethod
    def coupled(cls, sequences: Histogram, tokens: Histogram, longest: int = ANY) -> "Observed":
        """An estimate from two histograms of the same batches, which do not say how they belong together.

        Taken is that batches of more tokens have more sequences as a rule, and not always; and never so few that one
        would have more than `longest` tokens.

        Raises:
            ValueError: nothing was seen.
        """
        total = sum(tokens.counts)
        if not total or not sum(sequences.counts):
            raise ValueError("no batch was seen")
        ranks, beside = _ranks()
        rows = tokens.at(ranks)
        kinds = np.stack([sequences.at(beside).clip(-(-rows // longest), rows), rows])
        found, counts = np.unique(kinds, axis=1, return_counts=True)
        return cls(found[0], found[1], counts.astype(np.float64) * (total / ranks.size))

    def __repr__(self) -> str:
        return (
            f"{self.counts.sum():,.0f} batches of {self.sequences.min():,} to {self.sequences.max():,} sequences "
            f"and {self.tokens.min():,} to {self.tokens.max():,} tokens"
        )


@cache
def _ranks() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pairs of ranks, above 0 and up to 1, of normal deviates that have `_TOGETHER` in common; the largest are one."""
    normal = NormalDist()
    own, other = ([normal.inv_cdf((index + 0.5) / count) for index in range(count)] for count in (_POINTS, _BESIDE))
    apart = (1 - _TOGETHER**2) ** 0.5
    pairs = [(normal.cdf(one), normal.cdf(_TOGETHER * one + apart * two)) for one in own for two in other]
    ranks, beside = np.array([*pairs, (1.0, 1.0)]).T
    return ranks, beside
