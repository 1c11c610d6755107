"""`Similarity`: how the vectors of two texts are compared, as sentence-transformers names and defines it. Pure."""

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ivy.vectors import unit


class Similarity(Enum):
    """More is nearer, for each of them."""

    COSINE = "cosine"
    DOT = "dot"
    EUCLIDEAN = "euclidean"
    """The distance, negated."""
    MANHATTAN = "manhattan"
    """The sum of the distances of all dimensions, negated."""

    def between(self, one: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
        """Compare a vector with several.

        Args:
            one: float32 `[dimensions]`.
            others: float32 `[count, dimensions]`.

        Returns:
            float32 `[count]`.
        """
        left, right = one.astype(np.float32, copy=False), others.astype(np.float32, copy=False)
        if self is Similarity.COSINE:
            # Rounding may carry the product of two equal vectors past 1.
            return np.asarray(np.clip(unit(right) @ unit(left[None])[0], -1, 1), dtype=np.float32)
        if self is Similarity.DOT:
            return np.asarray(right @ left, dtype=np.float32)
        if self is Similarity.EUCLIDEAN:
            return np.asarray(-np.linalg.norm(right - left, axis=1), dtype=np.float32)
        return np.asarray(-np.abs(right - left).sum(axis=1), dtype=np.float32)
