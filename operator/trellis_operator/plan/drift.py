"""Whether an object has what we want of it. What others added to it, and what the API server filled in, is theirs.

A field that we do not apply is not looked at. Lists whose items have a key are compared by it and may hold more than
ours; other lists are ours as a whole.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from trellis_operator.desired.quantity import quantity

_KEYS = ("mountPath", "uid", "name")
_QUANTITIES = {"requests", "limits", "averageValue"}


def difference(wanted: Any, seen: Any, path: tuple[str, ...] = ()) -> str | None:
    """The path of the first field that is not as wanted; None where all are."""
    if isinstance(wanted, Mapping):
        return _of_mapping(wanted, seen if isinstance(seen, Mapping) else {}, path)
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return _of_list(wanted, seen if isinstance(seen, Sequence) else [], path)
    return None if _same(wanted, seen, path) else ".".join(path)


def _of_mapping(wanted: Mapping[str, Any], seen: Mapping[str, Any], path: tuple[str, ...]) -> str | None:
    if not wanted:
        return None  # empty is what absent means, and the API server leaves out some that are
    differences = (difference(value, seen.get(key), (*path, key)) for key, value in wanted.items())
    return next((found for found in differences if found is not None), None)


def _of_list(wanted: Sequence[Any], seen: Sequence[Any], path: tuple[str, ...]) -> str | None:
    key = _key(wanted)
    if key is None:
        if len(wanted) != len(seen):
            return ".".join(path)
        pairs = [(str(place), item, seen[place]) for place, item in enumerate(wanted)]
    else:
        there = {item.get(key): item for item in seen if isinstance(item, Mapping)}
        pairs = [(str(item[key]), item, there.get(item[key])) for item in wanted]
    differences = (difference(item, other, (*path, at)) for at, item, other in pairs)
    return next((found for found in differences if found is not None), None)


def _key(items: Sequence[Any]) -> str | None:
    for key in _KEYS:
        named = [item[key] for item in items if isinstance(item, Mapping) and isinstance(item.get(key), str)]
        if items and len(named) == len(items) == len(set(named)):
            return key
    return None


def _same(wanted: Any, seen: Any, path: tuple[str, ...]) -> bool:
    if wanted == seen:
        return True
    if seen is None:
        return wanted in (None, "", False, 0)  # the API server leaves out fields that say nothing
    if not _QUANTITIES.isdisjoint(path):
        return quantity(wanted) is not None and quantity(wanted) == quantity(seen)
    return False
