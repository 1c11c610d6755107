"""`Observed`: how often batches of so many sequences and so many tokens were seen. Knows no graphs and no files."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_POINTS = 2000
"""Of a distribution that is known by its buckets alone: finer than what the buckets tell."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """A histogram as metrics keep it: `counts[i]` values above `edges[i - 1]` and up to `edges[i]`.

    Edges are whole numbers above 0, ascending. Values above the last edge are counted as that edge.
    """

    edges: tuple[int, ...]
    counts: tuple[float, ...]

    def spread(self, points: int) -> NDArray[np.int64]:
        """Its quantiles, ascending, the last one its largest value; inside a bucket values lie evenly."""
        ends = np.cumsum(self.counts)
        targets = np.linspace(0, ends[-1], points + 1)[1:]
        index = np.minimum(np.searchsorted(ends, targets), len(self.edges) - 1)
        low, high = np.array((0, *self.edges[:-1]))[index], np.array(self.edges)[index]
        counts = np.array(self.counts)[index]
        share = (targets - (ends[index] - counts)) / counts
        found: NDArray[np.int64] = np.clip(np.ceil(low + share * (high - low)), low + 1, high).astype(np.int64)
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
    def of(cls, counts: Mapping[tuple[int, int], float]) -> "Observed":
        """Counts by (sequences, tokens).

        Raises:
            ValueError: nothing was seen, or a batch that cannot be.
        """
        seen = sorted((kind, count) for kind, count in counts.items() if count)
        if not seen:
            raise ValueError("no batch was seen")
        for (sequences, tokens), count in seen:
            if not 1 <= sequences <= tokens or not 0 < count < float("inf"):
                raise ValueError(f"{count:g} batches of {sequences} sequences and {tokens} tokens cannot be")
        kinds = np.array([kind for kind, _ in seen], dtype=np.int64)
        return cls(kinds[:, 0], kinds[:, 1], np.array([count for _, count in seen], dtype=np.float64))

    @classmethod
    def coupled(cls, sequences: Histogram, tokens: Histogram) -> "Observed":
        """An estimate from two histograms of the same batches, which do not say how they belong together.

        Taken is that of two batches the one with more tokens has no fewer sequences: batches grow when load does.

        Raises:
            ValueError: nothing was seen.
        """
        total = sum(tokens.counts)
        if not total or not sum(sequences.counts):
            raise ValueError("no batch was seen")
        rows = tokens.spread(_POINTS)
        kinds = np.stack([np.minimum(sequences.spread(_POINTS), rows), rows])
        found, counts = np.unique(kinds, axis=1, return_counts=True)
        return cls(found[0], found[1], counts.astype(np.float64) * (total / _POINTS))

    def __repr__(self) -> str:
        return (
            f"{self.counts.sum():,.0f} batches of {self.sequences.min():,} to {self.sequences.max():,} sequences "
            f"and {self.tokens.min():,} to {self.tokens.max():,} tokens"
        )
