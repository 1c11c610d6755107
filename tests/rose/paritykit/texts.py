"""Texts as an engine gets them: token ids, and the types of the tokens."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """Token ids, and one type each; None: all are 0."""

    ids: NDArray[np.int32]
    types: NDArray[np.uint8] | None = None


def texts(lengths: list[int], vocabulary: int, *, first: int = 3, paired: bool = False, seed: int = 11) -> list[Text]:
    """Random texts of these lengths.

    Args:
        lengths: in tokens.
        vocabulary: ids are below it.
        first: and not below this one, which leaves out what stands for padding.
        paired: the second half of each text is of type 1.
        seed: of the ids.
    """
    rng = np.random.default_rng(seed)
    found = [rng.integers(first, vocabulary, length).astype(np.int32) for length in lengths]
    return [Text(ids, _halves(ids.size) if paired else None) for ids in found]


def _halves(length: int) -> NDArray[np.uint8]:
    return (np.arange(length) >= (length + 1) // 2).astype(np.uint8)
