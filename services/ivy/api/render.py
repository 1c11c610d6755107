"""Rows and usage to the JSON of the API. Floats are written by `orjson` from the array: no Python number is made."""

from binascii import b2a_base64
from collections.abc import Iterator
from typing import Any

import orjson
from numpy.typing import NDArray

from ivy.api.writing import Writing
from ivy.errors import ApiError
from ivy.vectors import VectorKind, stored

VALUES_AT_ONCE = 64 * 1024
"""Values that are rendered without a pause: about a millisecond, in which the loop serves nobody else."""


def embeddings(rows: NDArray[Any], writing: Writing, model: str, tokens: int) -> Iterator[bytes]:
    """Render an answer, in pieces between which a caller may pause.

    Args:
        rows: one row an input, of the kind that is written: `[inputs, width]`, C-contiguous and finite.
        writing: how a row is written.
        model: the name that was asked for.
        tokens: of all inputs.
    """
    at_once = max(1, VALUES_AT_ONCE // max(1, rows.shape[1]))
    yield b'{"object":"list","data":'
    for first in range(0, len(rows), at_once):
        items = objects(rows[first : first + at_once], writing, first)
        yield (b"[" if first == 0 else b",") + dumps(items)[1:-1]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    yield b'],"model":' + orjson.dumps(model) + b',"usage":' + orjson.dumps(usage) + b"}"


def lists(rows: NDArray[Any], *, as_base64: bool = False, kind: VectorKind = VectorKind.FLOAT32) -> Iterator[bytes]:
    """Render rows as a list of lists of numbers, or of base64, in pieces between which a caller may pause."""
    at_once = max(1, VALUES_AT_ONCE // max(1, rows.shape[1]))
    for first in range(0, len(rows), at_once):
        part = rows[first : first + at_once]
        items = encoded(part, kind) if as_base64 else native(part)
        yield (b"[" if first == 0 else b",") + dumps(items)[1:-1]
    yield b"]"


def objects(rows: NDArray[Any], writing: Writing, first: int = 0) -> list[dict[str, Any]]:
    """Rows as the objects of OpenAI's answers, numbered from `first`."""
    values = encoded(rows, writing.kind) if writing.as_base64 else native(rows)
    return [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(values, start=first)]


def encoded(rows: NDArray[Any], kind: VectorKind) -> list[str]:
    """Rows as base64 of their bytes."""
    return [b2a_base64(row.data, newline=False).decode("ascii") for row in stored(kind, rows)]


def native(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows in the byte order that numbers are written from."""
    return rows if rows.dtype.isnative else rows.astype(rows.dtype.newbyteorder("="))


def dumps(value: Any) -> bytes:
    """JSON of anything with arrays in it."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def error(refused: ApiError) -> bytes:
    """Render an error: always with all four keys."""
    detail = {"message": str(refused), "type": refused.type, "param": refused.param, "code": refused.code}
    return orjson.dumps({"error": detail})
