"""Bytes to `EmbeddingsRequest`, or a `BadRequest` that names the field. Knows no server and no model."""

from collections.abc import Sequence
from typing import cast

import msgspec

from ivy.api.decode import decoded
from ivy.api.request import EmbeddingsRequest, Encoding
from ivy.api.types import CHOICES, EmbeddingsBody
from ivy.errors import BadRequest, TooManyInputs
from ivy.tokenize.truncation import Truncation

_DECODER = msgspec.json.Decoder(EmbeddingsBody)


def parse(body: bytes, max_inputs: int) -> EmbeddingsRequest:
    """Read and check the body of `POST /v1/embeddings`.

    Raises:
        BadRequest: it is no JSON, or a field is missing, has a wrong type or a wrong value.
        TooManyInputs: there are more than `max_inputs`.
    """
    asked = decoded(body, _DECODER, CHOICES)
    texts, ids, is_list = _inputs(asked.input, max_inputs)
    return EmbeddingsRequest(
        model=asked.model,
        texts=texts,
        ids=ids,
        is_list=is_list,
        encoding=Encoding(asked.encoding_format or "float"),
        dimensions=asked.dimensions,
        input_type=asked.input_type,
        prompt_name=asked.prompt_name,
        truncation=_truncation(asked.truncate),
        normalize=asked.normalize,
    )


def _inputs(value: object, max_inputs: int) -> tuple[Sequence[str], Sequence[Sequence[int]], bool]:
    """The four forms of `input` as texts or lists of ids, and whether they came as a list."""
    if isinstance(value, str):
        return [_full(value, "input")], [], False
    items = cast("list[str | int | list[int]]", value)
    if not items:
        raise BadRequest("input is an empty list", param="input")
    kind = type(items[0])
    for index, item in enumerate(items):
        if type(item) is not kind:
            raise BadRequest("input mixes texts, token ids and lists of token ids", param=f"input[{index}]")
        if kind is not int and not item:
            _full(cast("str | list[int]", item), f"input[{index}]")
    if kind is int:
        return [], [cast("list[int]", items)], False
    if len(items) > max_inputs:
        raise TooManyInputs(f"{len(items)} inputs, one request may have {max_inputs}", param="input")
    return (cast("list[str]", items), [], True) if kind is str else ([], cast("list[list[int]]", items), True)


def _full(value: str | list[int], param: str) -> str:
    if not value:
        what = "an empty text" if isinstance(value, str) else "an empty list of token ids"
        raise BadRequest(f"{param} is {what}", param=param)
    return cast("str", value)


def _truncation(value: str | bool | None) -> Truncation | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return Truncation.END if value else Truncation.NONE
    return Truncation(value.lower())
