"""Sparse rows as little-endian bytes, and back without a copy: for each row a count, its terms and their weights."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trellis_wire.v1.packing import PackingError

_WORD = 4


@dataclass(frozen=True, slots=True, eq=False)
class TermRow:
    """One row."""

    terms: NDArray[np.int32]
    """Ids, ascending."""
    weights: NDArray[np.float32]
    """As many, above 0."""


def terms_bytes(terms: int) -> int:
    """Size in bytes of a row of that many terms."""
    return _WORD * (1 + 2 * terms)


def pack_terms(rows: list[TermRow]) -> bytes:
    """Pack rows one after the other."""
    return b"".join(
        len(row.terms).to_bytes(_WORD, "little")
        + row.terms.astype("<i4", copy=False).tobytes()
        + row.weights.astype("<f4", copy=False).tobytes()
        for row in rows
    )


def unpack_terms(rows: bytes, count: int, vocabulary: int) -> list[TermRow]:
    """Read packed rows; terms and weights share memory with the bytes.

    Args:
        rows: as `pack_terms` gives them.
        count: how many rows were promised.
        vocabulary: terms are 0 to one less.

    Raises:
        PackingError: the bytes are not exactly `count` rows, or a term is out of the vocabulary or out of order.
    """
    found, at = [], 0
    for index in range(count):
        size = int.from_bytes(rows[at : at + _WORD], "little")
        end = at + terms_bytes(size)
        if at + _WORD > len(rows) or end > len(rows):
            raise PackingError(f"rows end within row {index} of {count}")
        terms = np.frombuffer(rows, "<i4", size, at + _WORD)
        if size and (terms[0] < 0 or terms[-1] >= vocabulary or (np.diff(terms) <= 0).any()):
            raise PackingError(f"the terms of row {index} do not ascend from 0 to at most {vocabulary - 1}")
        found.append(TermRow(terms, np.frombuffer(rows, "<f4", size, at + _WORD * (1 + size))))
        at = end
    if at != len(rows):
        raise PackingError(f"rows hold {len(rows)} bytes, {count} rows are {at} bytes")
    return found
