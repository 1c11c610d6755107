"""Sparse rows as bytes, and as dense arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_terms(row: NDArray[Any]) -> dict[int, float]:
    """Read one row as the wire has it: a count, that many terms, that many weights.

    Raises:
        ValueError: it is longer or shorter than its count says, or its terms do not ascend.
    """
    data = row.tobytes()
    count = int.from_bytes(data[:4], "little")
    if len(data) != 4 + 8 * count:
        raise ValueError(f"{len(data)} bytes for {count} terms")
    terms = np.frombuffer(data, "<i4", count, 4)
    if (np.diff(terms) <= 0).any():
        raise ValueError("terms do not ascend")
    return dict(zip(terms.tolist(), np.frombuffer(data, "<f4", count, 4 + 4 * count).tolist(), strict=True))


def dense(rows: list[dict[int, float]], vocabulary: int) -> NDArray[np.float32]:
    """The same rows [R, vocabulary], zeros where there is no term."""
    found = np.zeros((len(rows), vocabulary), np.float32)
    for index, row in enumerate(rows):
        found[index, list(row)] = list(row.values())
    return found
