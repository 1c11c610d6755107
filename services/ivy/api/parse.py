"""Bytes to `EmbeddingsRequest`, or a `BadRequest` that names the field. Knows no server and no model."""

import re
from collections.abc import Sequence
from typing import cast

import msgspec

from ivy.api.blame import lone_surrogate
from ivy.api.request import EmbeddingsRequest, Encoding
from ivy.api.types import CHOICES, EmbeddingsBody
from ivy.errors import BadRequest, TooManyInputs
from ivy.tokenize.truncation import Truncation

_DECODER = msgspec.json.Decoder(EmbeddingsBody)
_PATH = re.compile(r" - at `\$\.?(.*?)`$")
_MISSING = re.compile(r"^Object missing required field `(.+?)`")


def parse(body: bytes, max_inputs: int) -> EmbeddingsRequest:
    """Read and check the body of `POST /v1/embeddings`.

    Raises:
        BadRequest: it is no JSON, or a field is missing, has a wrong type or a wrong value.
        TooManyInputs: there are more than `max_inputs`.
    """
    asked = _decoded(body)
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


def _decoded(body: bytes) -> EmbeddingsBody:
    try:
        # Fields that are skipped are not looked into, so invalid text in them would pass.
        body.isascii() or body.decode()
        return _DECODER.decode(body)
    except UnicodeDecodeError as error:
        raise BadRequest(f"the body is not UTF-8 (byte {error.start})") from None
    except msgspec.ValidationError as error:
        raise _of_field(str(error)) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise _of_json(body, error) from None


def _of_field(message: str) -> BadRequest:
    """A value of a wrong type or out of its range: the library's words, and the path that it gives."""
    missing = _MISSING.match(message)
    if missing:
        return BadRequest(f"{missing[1]} is missing", param=missing[1])
    path = _PATH.search(message)
    if path is None:
        return BadRequest(f"the body is not what this route takes: {message}")
    param = path[1]
    if param in CHOICES:
        return BadRequest(f"{param} is not one of {CHOICES[param]}", param=param)
    return BadRequest(f"{param}: {message[: path.start()]}", param=param)


def _of_json(body: bytes, error: Exception) -> BadRequest:
    """No JSON, or JSON with text that is not Unicode."""
    if isinstance(error, RecursionError):
        return BadRequest("the body is nested too deeply")
    param = lone_surrogate(body)
    if param is not None:
        return BadRequest(f"{param} has half of a surrogate pair, which is no character", param=param)
    return BadRequest(f"the body is not JSON: {error}")


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
