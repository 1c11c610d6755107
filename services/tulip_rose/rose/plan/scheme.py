"""`Scheme`: which padded sizes there are, and so which graphs. Knows no batches' tensors and no device."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_FINE = 16
"""Up to so many multiples, steps of one; beyond, steps of `_COARSE`: what padding adds stays a small share."""
_COARSE = 4


@dataclass(frozen=True, slots=True, order=True)
class Scheme:
    """Multiples that tokens are padded to, and slots that sequences are."""

    multiple: int
    slots: tuple[int, ...]
    """Ascending."""

    def rows(self, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
        """Padded tokens of batches of so many tokens."""
        step = np.where(tokens <= _FINE * self.multiple, self.multiple, _COARSE * self.multiple)
        found: NDArray[np.int64] = -(-tokens // step) * step
        return found

    def places(self, sequences: NDArray[np.int64], padded: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Slots of batches of so many sequences; 0: there are not so many, and no graph serves the batch.

        Args:
            sequences: of each batch.
            padded: whether it has pad rows: one more sequence owns them.
        """
        index = np.searchsorted(self.slots, sequences + padded)
        found: NDArray[np.int64] = np.array((*self.slots, 0))[index]
        return found


DEFAULT = Scheme(64, (2, 8, 32, 128, 512))
"""What a manifest has that says nothing."""
