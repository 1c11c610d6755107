"""`Activation`: what becomes of the values of a model that scores. Pure; knows no model."""

from enum import Enum

import numpy as np
from numpy.typing import NDArray


class Activation(Enum):
    """Applied once, to the values as the engine gives them."""

    NONE = "none"
    SIGMOID = "sigmoid"
    """Each value by itself."""
    SOFTMAX = "softmax"
    """The values of one row become shares of 1."""

    def of(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Apply it to values `[rows, labels]`; computed in float64, so that large values neither overflow nor warn."""
        if self is Activation.NONE:
            return values
        wide = values.astype(np.float64)
        if self is Activation.SIGMOID:
            small = np.exp(-np.abs(wide))
            return np.asarray(np.where(wide >= 0, 1.0, small) / (1 + small), dtype=np.float32)
        shares = np.exp(wide - wide.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float32)
