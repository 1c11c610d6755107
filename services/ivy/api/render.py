"""Rows and usage to the JSON of the API. Floats are written by `orjson` from the array: no Python number is made."""

from binascii import b2a_base64
from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ivy.api.request import Encoding
from ivy.errors import ApiError

VALUES_AT_ONCE = 64 * 1024
"""Values that are rendered without a pause: about a millisecond, in which the loop serves nobody else."""


def embeddings(rows: NDArray[Any], encoding: Encoding, model: str, tokens: int) -> Iterator[bytes]:
    """Render an answer, in pieces between which a caller may pause.

    Args:
        rows: one row an input: float32, int8 or packed bits `[inputs, width]`, C-contiguous and finite.
        encoding: how a row is written.
        model: the name that was asked for.
        tokens: of all inputs.
    """
    at_once = max(1, VALUES_AT_ONCE // max(1, rows.shape[1]))
    yield b'{"object":"list","data":'
    for first in range(0, len(rows), at_once):
        items = _items(rows[first : first + at_once], encoding, first)
        yield (b"[" if first == 0 else b",") + orjson.dumps(items, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    yield b'],"model":' + orjson.dumps(model) + b',"usage":' + orjson.dumps(usage) + b"}"


def error(refused: ApiError) -> bytes:
    """Render an error: always with all four keys."""
    detail = {"message": str(refused), "type": refused.type, "param": refused.param, "code": refused.code}
    return orjson.dumps({"error": detail})


def _items(rows: NDArray[Any], encoding: Encoding, first: int) -> list[dict[str, Any]]:
    if encoding is Encoding.FLOAT:
        native = rows if rows.dtype.isnative else rows.astype(np.float32)
        return [
            {"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(native, start=first)
        ]
    return [
        {"object": "embedding", "index": index, "embedding": b2a_base64(row.data, newline=False).decode("ascii")}
        for index, row in enumerate(rows, start=first)
    ]
