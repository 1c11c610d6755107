"""Bytes to `EmbeddingsRequest`, or a `BadRequest` that names the field. Knows no server and no model."""

from collections.abc import Sequence
from typing import cast

import msgspec

from ivy.api.decode import decoded
from ivy.api.request import EmbeddingsRequest, Form
from ivy.api.types import CHOICES, EmbeddingsBody
from ivy.api.writing import Writing, writing_of
from ivy.errors import BadRequest, TooManyInputs
from ivy.tokenize.truncation import Truncation

_DECODER = msgspec.json.Decoder(EmbeddingsBody)


def parse(body: bytes, max_inputs: int) -> tuple[EmbeddingsRequest, Writing]:
    """Read and check the body of `POST /v1/embeddings`.

    Returns:
        What was asked, and how its vectors are to be written.

    Raises:
        BadRequest: it is no JSON, or a field is missing, has a wrong type or a wrong value.
        TooManyInputs: there are more than `max_inputs`.
    """
    asked = decoded(body, _DECODER, CHOICES)
    texts, ids, is_list = _inputs(asked.input, max_inputs)
    writing = writing_of(asked.encoding_format, asked.output_dtype)
    request = EmbeddingsRequest(
        model=asked.model,
        texts=texts,
        ids=ids,
        is_list=is_list,
        form=Form((writing.kind,), asked.dimensions, asked.normalize),
        input_type=asked.input_type,
        prompt_name=asked.prompt_name,
        truncation=truncation_of(asked.truncate),
    )
    return request, writing


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


def truncation_of(value: str | bool | None) -> Truncation | None:
    """Read a field `truncate`; true is `end` and false is `none`."""
    if value is None:
        return None
    if isinstance(value, bool):
        return Truncation.END if value else Truncation.NONE
    return Truncation(value.lower())
