"""Who manages a field of an object, by its managedFields. Pure.

They tell of everybody who writes through the API, and nothing of admission: what a mutating webhook or policy changes
within a write counts as that writer's own.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Object = dict[str, Any]


def managers(seen: Object, path: str) -> list[str]:
    """The field managers of `path`, which is spelled as `drift` does: names and keys of items, with dots between."""
    entries: Iterable[Object] = seen["metadata"].get("managedFields") or []
    return sorted({each.get("manager", "") for each in entries if _has(each.get("fieldsV1") or {}, path)} - {""})


def _has(fields: Mapping[str, Any], path: str) -> bool:
    """Whether a set of fields has a path, a part of it, or the whole that it is in."""
    return any(
        path == name or (path.startswith(f"{name}.") and (not inner or _has(inner, path[len(name) + 1 :])))
        for key, inner in fields.items()
        for name in _names(key)
    )


def _names(key: str) -> Iterator[str]:
    """How a path may call a step: a field by its name, an item by one of its keys, one of a set by its value."""
    kind, _, said = key.partition(":")
    if kind == "f":
        yield said
    elif kind in ("k", "v"):
        value = json.loads(said)
        yield from map(str, value.values() if isinstance(value, dict) else [value])
