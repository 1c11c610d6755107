"""Finds what is wrong in JSON that the fast decoder refuses without saying where. Only bad requests come here."""

import json
import re
from collections.abc import Iterator
from typing import Any

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DEPTH = 6
"""Of the deepest field that any body has, and some more."""


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


def _texts(body: Any) -> Iterator[tuple[str, str]]:
    """The texts of a body with their paths, the first ones first; no deeper than any field of ours goes."""
    waiting: list[tuple[str, Any, int]] = [("", body, 0)]
    while waiting:
        path, value, depth = waiting.pop()
        if isinstance(value, str):
            yield path, value
        elif depth < _DEPTH and isinstance(value, dict):
            inside = [(f"{path}.{_shown(name)}" if path else _shown(name), each) for name, each in value.items()]
            waiting += [(name, each, depth + 1) for name, each in reversed(inside)]
        elif depth < _DEPTH and isinstance(value, list):
            waiting += [(f"{path}[{place}]", value[place], depth + 1) for place in reversed(range(len(value)))]


def _shown(name: str) -> str:
    """The name of a field as an answer may repeat it: callers may call a field by half of a pair, too."""
    return _SURROGATE.sub("?", name)
