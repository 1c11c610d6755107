"""Finds what is wrong in JSON that the fast decoder refuses without saying where. Only bad requests come here."""

import json
import re
from collections.abc import Iterator
from typing import Any

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def lone_surrogate(body: bytes) -> str | None:
    """The field with half of a surrogate pair, e.g. `input[3]`, or None where there is none.

    Python's own decoder lets such halves pass, so what it gives can be searched.
    """
    if not _SURROGATE_ESCAPE.search(body):
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return next((path for path, text in _texts(value) if _SURROGATE.search(text)), None)


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """The texts of a body that may stand in a field, with their paths: no deeper than a field's list."""
    if not isinstance(value, dict):
        return
    for name, field in value.items():
        if isinstance(field, str):
            yield str(name), field
        elif isinstance(field, list):
            yield from ((f"{name}[{index}]", item) for index, item in enumerate(field) if isinstance(item, str))
