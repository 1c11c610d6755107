"""How good vectors are for what they are for: finding (nDCG@10) and comparing (Spearman). Never knows who made them."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

Rows = NDArray[np.float32]
_PLACES = 10


@dataclass(frozen=True)
class Vectors:
    """What a model made of all texts."""

    titles: Rows
    bodies: Rows
    news: Rows

    def map(self, change: Callable[[Rows], Rows]) -> "Vectors":
        return Vectors(change(self.titles), change(self.bodies), change(self.news))


@dataclass(frozen=True)
class Quality:
    """Better the nearer to 1."""

    gains: NDArray[np.float64] = field(repr=False)
    """nDCG of ten places, of each title that looks for its body and each body that looks for its title."""
    ndcg: float
    """Their mean."""
    spearman: float
    """Between the cosines of texts and how alike people find them."""

    def far(self, other: "Quality") -> float:
        """The larger of the two differences."""
        return max(abs(self.ndcg - other.ndcg), abs(self.spearman - other.spearman))

    def chance(self, other: "Quality") -> float:
        """How far the means of the gains may be apart by the choice of queries: two standard errors."""
        return float(2 * np.std(self.gains - other.gains) / np.sqrt(self.gains.size))


def quality(vectors: Vectors, alike: NDArray[np.float64]) -> Quality:
    """Measure vectors by their cosines; `alike` is [N, N] of `news`."""
    found = _cosines(vectors.titles, vectors.bodies)
    news = _cosines(vectors.news, vectors.news)
    once = np.triu_indices(len(alike), 1)
    gains = np.concatenate([_gains(found), _gains(found.T)])
    return Quality(gains, float(gains.mean()), float(spearmanr(news[once], alike[once])[0]))


def int8(rows: Rows) -> Rows:
    """Vectors as `int8` is defined, from vectors before they are normalised."""
    return np.clip(np.round(127 * np.tanh(rows)), -128, 127)


def _cosines(a: Rows, b: Rows) -> NDArray[np.float64]:
    units = [
        rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (a.astype(np.float64), b.astype(np.float64))
    ]
    cosines: NDArray[np.float64] = units[0] @ units[1].T
    return cosines


def _gains(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of queries (rows) whose one right answer is the column of the same number; a tie counts against it."""
    before = (scores >= scores.diagonal()[:, None]).sum(axis=1) - 1
    return np.where(before < _PLACES, 1 / np.log2(before + 2), 0.0)
