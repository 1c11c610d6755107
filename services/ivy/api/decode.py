"""Bytes to one struct, or a `BadRequest` that names the field. Knows no route."""

import re
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from ivy.api.blame import lone_surrogate
from ivy.errors import BadRequest

_PATH = re.compile(r" - at `\$\.?(.*?)`$")
_INDEX = re.compile(r"\[\d+\]")
_MISSING = re.compile(r"^Object missing required field `(.+?)`")

_Body = TypeVar("_Body")


def decoded(body: bytes, decoder: msgspec.json.Decoder[_Body], choices: Mapping[str, str]) -> _Body:
    """Read a body.

    Args:
        body: JSON, in UTF-8.
        decoder: of the struct that it should be.
        choices: for fields whose values can be counted, what an error lists; those in a list are `field[]`.

    Raises:
        BadRequest: it is no JSON, or a field is missing, has a wrong type or a wrong value.
    """
    try:
        # Fields that are skipped are not looked into, so invalid text in them would pass.
        body.isascii() or body.decode()
        return decoder.decode(body)
    except UnicodeDecodeError as error:
        raise BadRequest(f"the body is not UTF-8 (byte {error.start})") from None
    except msgspec.ValidationError as error:
        raise _of_field(str(error), choices) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise _of_json(body, error) from None


def _of_field(message: str, choices: Mapping[str, str]) -> BadRequest:
    """A value of a wrong type or out of its range: the library's words, and the path that it gives."""
    missing, path = _MISSING.match(message), _PATH.search(message)
    if missing:
        name = f"{path[1]}.{missing[1]}" if path is not None else missing[1]
        return BadRequest(f"{name} is missing", param=name)
    if path is None:
        return BadRequest(f"the body is not what this route takes: {message}")
    param = path[1]
    known = choices.get(_INDEX.sub("[]", param))
    if known is not None:
        return BadRequest(f"{param} is not one of {known}", param=param)
    return BadRequest(f"{param}: {message[: path.start()]}", param=param)


def _of_json(body: bytes, error: Exception) -> BadRequest:
    """No JSON, or JSON with text that is not Unicode."""
    if isinstance(error, RecursionError):
        return BadRequest("the body is nested too deeply")
    param = lone_surrogate(body)
    if param is not None:
        return BadRequest(f"{param} has half of a surrogate pair, which is no character", param=param)
    return BadRequest(f"the body is not JSON: {error}")
