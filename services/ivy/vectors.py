"""`VectorKind`: the types that a vector can be asked in, and how each is made. Pure; knows no request and no engine.

The engine gives float32, int8 or bits (see `trellis_wire`). All other types are made here from one of these, so that a
request with several types costs one pass: the engine is asked for each source once.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trellis_wire.v1 import embedding_pb2 as pb


class VectorKind(Enum):
    """The values of a vector, and how they are stored."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    """As an array: float32 whose lower half is zero."""
    INT8 = "int8"
    """clamp(round(127 tanh(x)), -128, 127) of the vector before it is normalised."""
    UINT8 = "uint8"
    """int8 + 128."""
    BINARY = "binary"
    """ubinary - 128, as int8."""
    UBINARY = "ubinary"
    """One bit a dimension, set where the value is above 0; most significant bit first, padded with zeros."""
    BITS = "bits"
    """One bit a dimension, set where the value is at least 0; least significant bit first, padded with zeros."""


Vectors = Mapping[VectorKind, NDArray[Any]]
"""For each kind one row a vector, in the caller's order."""

SOURCES: Mapping[VectorKind, pb.VectorType] = {
    VectorKind.FLOAT32: pb.VECTOR_TYPE_FLOAT32,
    VectorKind.FLOAT16: pb.VECTOR_TYPE_FLOAT32,
    VectorKind.BFLOAT16: pb.VECTOR_TYPE_FLOAT32,
    VectorKind.INT8: pb.VECTOR_TYPE_INT8,
    VectorKind.UINT8: pb.VECTOR_TYPE_INT8,
    # Zeros are no bit in these two and a bit in the engine's, so the engine's bits do not tell.
    VectorKind.BINARY: pb.VECTOR_TYPE_FLOAT32,
    VectorKind.UBINARY: pb.VECTOR_TYPE_FLOAT32,
    VectorKind.BITS: pb.VECTOR_TYPE_BINARY,
}
"""What the engine is asked for, for each kind."""


def sources_of(kinds: Iterable[VectorKind]) -> list[pb.VectorType]:
    """What the engine is asked for, for all of `kinds`: each once, in order of first need."""
    return list(dict.fromkeys(SOURCES[kind] for kind in kinds))


_LARGEST_HALF = float(np.finfo(np.float16).max)


def derived(kind: VectorKind, rows: NDArray[Any]) -> NDArray[Any]:
    """Make rows of a kind from those of its source.

    Args:
        kind: what to make.
        rows: float32 or int8 `[count, dimensions]`, or the engine's bits `[count, bytes]`: as `SOURCES` says.

    Returns:
        One row a row, C-contiguous, of the kind's own type.
    """
    if kind is VectorKind.FLOAT16:
        # Beyond its range there is no half, and an answer holds numbers alone.
        half: NDArray[np.float16] = np.clip(rows, -_LARGEST_HALF, _LARGEST_HALF).astype(np.float16)
        return half
    if kind is VectorKind.BFLOAT16:
        return _bfloat16(rows)
    if kind is VectorKind.UINT8:
        return rows.view(np.uint8) ^ np.uint8(128)
    if kind is VectorKind.UBINARY:
        return np.packbits(rows > 0, axis=1)
    if kind is VectorKind.BINARY:
        return (np.packbits(rows > 0, axis=1) ^ np.uint8(128)).view(np.int8)
    return rows


def of_source(source: pb.VectorType, rows: NDArray[np.float32], *, normalize: bool) -> NDArray[Any]:
    """Make what an engine would give, from vectors that were put together here.

    Args:
        source: what the engine would have been asked for.
        rows: float32 `[count, dimensions]`, not normalised.
        normalize: whether float32 rows get unit norm.
    """
    if source == pb.VECTOR_TYPE_INT8:
        return np.clip(np.rint(np.tanh(rows) * np.float32(127)), -128, 127).astype(np.int8)
    if source == pb.VECTOR_TYPE_BINARY:
        return np.packbits(rows >= 0, axis=1, bitorder="little")
    return unit(rows) if normalize else rows


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of unit norm; a row of zeros stays one."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1e-12), dtype=np.float32)


def stored(kind: VectorKind, rows: NDArray[Any]) -> NDArray[Any]:
    """The rows as they lie in memory where a client reads their bytes: little-endian, two bytes a bfloat16."""
    if kind is VectorKind.BFLOAT16:
        return (rows.view(np.uint32) >> np.uint32(16)).astype("<u2")
    return rows.astype(rows.dtype.newbyteorder("<"), copy=False)


def _bfloat16(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Round float32 to the nearest bfloat16, to the even one of two: as torch and hardware do."""
    bits = rows.astype(np.float32, copy=False).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)
