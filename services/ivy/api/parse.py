"""Bytes to `EmbeddingsRequest`, or a `BadRequest` that names the field. Knows no server and no model."""

from collections.abc import Sequence
from typing import cast

import msgspec

from ivy.api.decode import decoded
from ivy.api.request import EmbeddingsRequest, Form
from ivy.api.types import CHOICES, EmbeddingsBody, Input
from ivy.api.writing import Writing, writing_of
from ivy.errors import BadRequest, TooManyInputs
from ivy.tokenize.truncation import Truncation
from ivy.vectors import VectorKind

WITH_CHUNK = "'end', 'start' or 'chunk'"
"""What `truncate` may be for an input that is too long, where it may be read in windows."""
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
    texts, ids, is_list = inputs_of(asked.input, "input", max_inputs)
    writing = writing_of(asked.encoding_format, asked.output_dtype)
    request = EmbeddingsRequest(
        model=asked.model,
        texts=texts,
        ids=ids,
        is_list=is_list,
        form=form_of(writing.kind, asked.dimensions, asked.output_dimension, asked.normalize),
        input_type=asked.input_type,
        prompt_name=asked.prompt_name,
        priority=asked.priority or 0,
        truncation=truncation_of(asked.truncation if asked.truncate is None else asked.truncate),
        instead=WITH_CHUNK,
    )
    return request, writing


def inputs_of(value: Input, field: str, max_inputs: int) -> tuple[Sequence[str], Sequence[Sequence[int]], bool]:
    """The four forms of inputs as texts or lists of ids, and whether they came as a list.

    Args:
        value: one text, texts, the ids of one text, or lists of ids.
        field: what the caller calls it.
        max_inputs: how many there may be.

    Raises:
        BadRequest: they are of several forms, or one of them is empty.
        TooManyInputs: there are more than `max_inputs`.
    """
    if isinstance(value, str):
        return [_full(value, field)], [], False
    items = value
    if not items:
        raise BadRequest(f"{field} is an empty list", param=field)
    kind = type(items[0])
    for index, item in enumerate(items):
        if type(item) is not kind:
            raise BadRequest(f"{field} mixes texts, token ids and lists of token ids", param=f"{field}[{index}]")
        if kind is not int and not item:
            _full(cast("str | list[int]", item), f"{field}[{index}]")
    if kind is int:
        return [], [cast("list[int]", items)], False
    check_count(len(items), max_inputs, field)
    return (cast("list[str]", items), [], True) if kind is str else ([], cast("list[list[int]]", items), True)


def form_of(kind: VectorKind, dimensions: int | None, output_dimension: int | None, normalize: bool | None) -> Form:
    """What is wanted of each vector, where its size has two names.

    Raises:
        BadRequest: both names are used.
    """
    if output_dimension is None:
        return Form((kind,), dimensions, normalize)
    if dimensions is not None:
        raise BadRequest("dimensions and output_dimension are both there", param="output_dimension")
    return Form((kind,), output_dimension, normalize, "output_dimension")


def texts_of(texts: Sequence[str], field: str, max_inputs: int) -> Sequence[str]:
    """Check a list of texts.

    Raises:
        BadRequest: it is empty, or one of them is.
        TooManyInputs: there are more than `max_inputs`.
    """
    if not texts:
        raise BadRequest(f"{field} is an empty list", param=field)
    for index, text in enumerate(texts):
        if not text:
            _full(text, f"{field}[{index}]")
    check_count(len(texts), max_inputs, field)
    return texts


def check_count(count: int, max_inputs: int, field: str) -> None:
    """Check how many inputs there are.

    Raises:
        TooManyInputs: there are more than `max_inputs`.
    """
    if count > max_inputs:
        raise TooManyInputs(f"{count} inputs, one request may have {max_inputs}", param=field)


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
