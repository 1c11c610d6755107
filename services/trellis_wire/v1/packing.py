"""Ragged token ids, spans and rows as little-endian bytes, and back without a copy.

Views returned here are read-only and share memory with the message they came from.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellis_wire.v1.embedding_pb2 import VectorType

Ids = NDArray[np.int32]
Spans = list[tuple[tuple[int, int], ...]]

_INT32 = np.dtype("<i4")


class PackingError(ValueError):
    """Bytes that do not say what their lengths promise. The text names the field."""


def pack_ids(sequences: Sequence[Ids | Sequence[int]]) -> tuple[bytes, bytes]:
    """Pack sequences of token ids as `(token_ids, lengths)`, both little-endian int32."""
    arrays = [np.asarray(ids, dtype=_INT32) for ids in sequences]
    lengths = np.fromiter((array.size for array in arrays), dtype=_INT32, count=len(arrays))
    return b"".join(array.tobytes() for array in arrays), lengths.tobytes()


def unpack_ids(token_ids: bytes, lengths: bytes) -> list[Ids]:
    """Split packed token ids into one read-only int32 view a sequence.

    Raises:
        PackingError: a length is below 1, or the lengths do not add up to the ids that came.
    """
    # A call has few lengths more often than many: lists cost less than numpy's reductions do.
    sizes = _int32(lengths, "lengths").tolist()
    ids = _int32(token_ids, "token_ids")
    least = min(sizes, default=1)
    if least < 1:
        raise PackingError(f"lengths[{sizes.index(least)}] is {least}: a sequence has at least one token")
    total = sum(sizes)
    if total != ids.size:
        raise PackingError(f"lengths add up to {total} tokens, token_ids holds {ids.size}")
    return [ids[end - size : end] for end, size in zip(accumulate(sizes), sizes, strict=True)]


def pack_types(sequences: Sequence[NDArray[np.uint8] | Sequence[int]]) -> bytes:
    """Pack the token types of sequences, one byte a token; nothing where all of them are 0."""
    types = b"".join(map(bytes, sequences))
    return types if any(types) else b""


def unpack_types(token_types: bytes, lengths: Sequence[int]) -> list[NDArray[np.uint8] | None]:
    """Read the token types of each sequence; no bytes at all mean that there are none to tell.

    Raises:
        PackingError: they are not one a token.
    """
    if not token_types:
        return [None] * len(lengths)
    if len(token_types) != sum(lengths):
        raise PackingError(f"token_types holds {len(token_types)} types for {sum(lengths)} tokens")
    types = np.frombuffer(token_types, dtype=np.uint8)
    return [types[end - size : end] for end, size in zip(accumulate(lengths), lengths, strict=True)]


def pack_unseen(unseen: Sequence[int]) -> bytes:
    """Pack how many tokens at the end of each sequence none sees; nothing where there are none at all."""
    return np.asarray(unseen, dtype=_INT32).tobytes() if any(unseen) else b""


def unpack_unseen(unseen: bytes, lengths: Sequence[int]) -> list[int]:
    """Read how many tokens at the end of each sequence none sees; no bytes at all mean that there are none.

    Raises:
        PackingError: they are not one a sequence, or leave a sequence no token that is seen.
    """
    if not unseen:
        return [0] * len(lengths)
    counts: list[int] = _int32(unseen, "unseen").tolist()
    if len(counts) != len(lengths):
        raise PackingError(f"unseen holds {len(counts)} numbers for {len(lengths)} sequences")
    for index, (count, length) in enumerate(zip(counts, lengths, strict=True)):
        if not 0 <= count < length:
            raise PackingError(f"unseen[{index}] is {count}: the sequence has {length} tokens, at least one is seen")
    return counts


def pack_spans(spans: Iterable[Iterable[tuple[int, int]]]) -> bytes:
    """Pack the spans of each sequence as int32 triples `(sequence, begin, end)`."""
    triples = [(index, begin, end) for index, own in enumerate(spans) for begin, end in own]
    return np.asarray(triples, dtype=_INT32).tobytes()


def unpack_spans(spans: bytes, lengths: Sequence[int]) -> Spans:
    """Read the spans of each sequence; no bytes at all mean one whole span a sequence.

    Args:
        spans: int32 triples `(sequence, begin, end)`, sequences in order.
        lengths: tokens of each sequence.

    Raises:
        PackingError: a span is empty, out of its sequence or out of order, or a sequence has none.
    """
    if not spans:
        return [((0, length),) for length in lengths]
    numbers = _int32(spans, "spans")
    if numbers.size % 3:
        raise PackingError(f"spans holds {numbers.size} numbers: not triples of (sequence, begin, end)")
    found: list[list[tuple[int, int]]] = [[] for _ in lengths]
    last = 0
    for sequence, begin, end in numbers.reshape(-1, 3).tolist():
        if not last <= sequence < len(lengths):
            raise PackingError(f"a span names sequence {sequence}: spans come in order of {len(lengths)} sequences")
        if not 0 <= begin < end <= lengths[sequence]:
            raise PackingError(f"span [{begin}, {end}) is not in sequence {sequence} of {lengths[sequence]} tokens")
        found[sequence].append((begin, end))
        last = sequence
    for index, own in enumerate(found):
        if not own:
            raise PackingError(f"sequence {index} has no span")
    return [tuple(own) for own in found]


def row_bytes(vector_type: VectorType, dimensions: int) -> int:
    """Size in bytes of one row of `dimensions` values.

    Raises:
        PackingError: the vector type is not one that can be sent.
    """
    if vector_type == VectorType.VECTOR_TYPE_FLOAT32:
        return 4 * dimensions
    if vector_type == VectorType.VECTOR_TYPE_INT8:
        return dimensions
    if vector_type == VectorType.VECTOR_TYPE_BINARY:
        return (dimensions + 7) // 8
    raise PackingError(f"vector_type {vector_type} is not one of float32, int8, binary")


def unpack_rows(rows: bytes, count: int, vector_type: VectorType, dimensions: int) -> NDArray[Any]:
    """View packed rows as an array of `count` rows: float32 or int8 `[count, dimensions]`, or packed bits as uint8.

    Raises:
        PackingError: the bytes are not exactly `count` rows.
    """
    size = row_bytes(vector_type, dimensions)
    if len(rows) != count * size:
        raise PackingError(f"rows holds {len(rows)} bytes, {count} rows of {size} bytes were promised")
    dtype = {VectorType.VECTOR_TYPE_FLOAT32: "<f4", VectorType.VECTOR_TYPE_INT8: "i1"}.get(vector_type, "u1")
    array = np.frombuffer(rows, dtype=dtype)
    return array.reshape(count, size // array.itemsize)


def _int32(data: bytes, field: str) -> Ids:
    if len(data) % _INT32.itemsize:
        raise PackingError(f"{field} holds {len(data)} bytes: not a whole number of int32 values")
    return np.frombuffer(data, dtype=_INT32)
