"""Windows over a text that is longer than the model reads, and how the vectors of its parts become one. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens `[begin, end)` that the model sees together, of which `[own_begin, own_end)` are pooled.

    Each token is owned by exactly one window.
    """

    begin: int
    end: int
    own_begin: int
    own_end: int


def even(total: int, size: int) -> list[tuple[int, int]]:
    """Split `total` tokens into as few runs `[begin, end)` of at most `size` as can be, of nearly equal length."""
    count = max(-(-total // size), 1)
    edges = [total * place // count for place in range(count + 1)]
    return list(pairwise(edges))


def overlapping(total: int, size: int, overlap: int) -> list[Window]:
    """Cover `total` tokens with windows of at most `size` that share `overlap` tokens with the one before.

    The last one ends with the text and is as long as the others, so it may share more. Where two share tokens, the
    first half belongs to the earlier and the second half to the later one: no token that is asked for lies nearer to an
    inner edge of its window than half of the overlap.

    Args:
        total: tokens, at least 1.
        size: of a window, above `overlap`.
        overlap: at least 0.
    """
    begins = [0]
    while begins[-1] + size < total:
        begins.append(min(begins[-1] + size - overlap, total - size))
    ends = [min(begin + size, total) for begin in begins]
    inner = [(begin + end) // 2 for begin, end in zip(begins[1:], ends[:-1], strict=True)]
    return list(map(Window, begins, ends, [0, *inner], [*inner, total]))


def averaged(
    rows: NDArray[np.float32], targets: Sequence[int], weights: Sequence[int], count: int
) -> NDArray[np.float32]:
    """Average rows by weight into `count` vectors.

    Args:
        rows: float32 `[parts, dimensions]`.
        targets: for each row the vector that it is a part of; every vector has one.
        weights: for each row the tokens that it stands for.
        count: how many vectors there are.

    Returns:
        float32 `[count, dimensions]`; a vector of one part is that part, bit for bit.
    """
    total = np.bincount(targets, weights, count)
    shares = np.asarray(weights) / total[np.asarray(targets)]
    found = np.zeros((count, rows.shape[1]), dtype=np.float64)
    np.add.at(found, np.asarray(targets), rows * shares[:, None])
    return found.astype(np.float32)
