"""Whether an object has what we want of it. What others added to it, and what the API server filled in, is theirs.

A field that we do not apply is not looked at. Lists whose items have a key are compared by it and may hold more than
ours; other lists are ours as a whole.

What says whom traffic or a right is for, or who is asked how much to scale, is ours to the last field: there, one more
of anything opens a way that was closed, or leads nowhere. The API server takes an apply of it for the whole, so one
apply takes the rest away again.
"""

from typing import Any

from trellis_operator.desired.quantity import quantity

_KEYS = ("mountPath", "uid", "name")
_WHOLE = {"selector", "podSelector", "namespaceSelector", "ingress", "rules", "subjects", "parentRefs", "triggers"}
_SPEAKS = {"automountServiceAccountToken", "allowPrivilegeEscalation"}
"""Flags that are true where nobody says otherwise: an API server keeps their false."""
_QUANTITIES = {"requests", "limits", "averageValue"}


def difference(wanted: Any, seen: Any, path: tuple[str, ...] = ()) -> str | None:
    """The path of the first field that is not as wanted; None where all are."""
    if wanted == seen:
        return None
    if isinstance(wanted, dict):
        if isinstance(seen, dict) and (other := _one_sided(wanted, seen, path)):
            return ".".join((*path, other))
        return _of_mapping(wanted, seen if isinstance(seen, dict) else {}, path)
    if isinstance(wanted, list):
        return _of_list(wanted, seen if isinstance(seen, list) else [], path)
    return None if _same(wanted, seen, path) else ".".join(path)


def _of_mapping(wanted: dict[str, Any], seen: dict[str, Any], path: tuple[str, ...]) -> str | None:
    if not wanted:
        return None  # empty is what absent means, and the API server leaves out some that are
    differences = (difference(value, seen.get(key), (*path, key)) for key, value in wanted.items())
    return next((found for found in differences if found is not None), None)


def _one_sided(wanted: dict[str, Any], seen: dict[str, Any], path: tuple[str, ...]) -> str | None:
    """A field that only one of them has, where all of it is ours. `{}` selects everything there: it is no absence."""
    return None if _WHOLE.isdisjoint(path) else min(wanted.keys() ^ seen.keys(), default=None)


def _of_list(wanted: list[Any], seen: list[Any], path: tuple[str, ...]) -> str | None:
    key = _key(wanted) if _WHOLE.isdisjoint(path) else None
    if key is None:
        if len(wanted) != len(seen):
            return ".".join(path)
        pairs = [(str(place), item, seen[place]) for place, item in enumerate(wanted)]
    else:
        there = {item.get(key): item for item in seen if isinstance(item, dict)}
        pairs = [(str(item[key]), item, there.get(item[key])) for item in wanted]
    differences = (difference(item, other, (*path, at)) for at, item, other in pairs)
    return next((found for found in differences if found is not None), None)


def _key(items: list[Any]) -> str | None:
    for key in _KEYS:
        named = [item[key] for item in items if isinstance(item, dict) and isinstance(item.get(key), str)]
        if items and len(named) == len(items) == len(set(named)):
            return key
    return None


def _same(wanted: Any, seen: Any, path: tuple[str, ...]) -> bool:
    if seen is None:
        # The API server leaves out fields that say nothing.
        return _SPEAKS.isdisjoint(path[-1:]) and wanted in (None, "", False, 0)
    if not _QUANTITIES.isdisjoint(path):
        return quantity(wanted) is not None and quantity(wanted) == quantity(seen)
    return False
