"""Whether a node is one that `affinity.nodeAffinity` requires, as a scheduler decides it. Pure.

Of several terms one must match, of a term all of its expressions; an empty term matches no node. Preferences exclude
no node, so they are not read.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Object = dict[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def allows(affinity: Mapping[str, Any], node: Object) -> bool:
    """Whether an affinity's required part, if it has one, lets a pod run on a node.

    The CRD leaves an affinity to the API server to check, so it may be anything here. What that server will refuse
    fits nowhere.
    """
    try:
        required = (affinity.get("nodeAffinity") or {}).get(_REQUIRED)
        return required is None or any(_matches(term, node) for term in required["nodeSelectorTerms"])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False


def _matches(term: Mapping[str, Any], node: Object) -> bool:
    labels = node["metadata"].get("labels", {})
    fields = {"metadata.name": node["metadata"]["name"]}
    asked = [
        *((each, labels) for each in term.get("matchExpressions") or []),
        *((each, fields) for each in term.get("matchFields") or []),
    ]
    return bool(asked) and all(_holds(each, values) for each, values in asked)


def _holds(asked: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    return _OPERATORS[asked["operator"]](values.get(asked["key"]), asked.get("values") or [])


def _greater(has: str | None, bounds: Sequence[str]) -> bool:
    return has is not None and has.isdecimal() and int(has) > int(bounds[0])


def _less(has: str | None, bounds: Sequence[str]) -> bool:
    return has is not None and has.isdecimal() and int(has) < int(bounds[0])


_OPERATORS: Mapping[str, Callable[[str | None, Sequence[str]], bool]] = {
    "In": lambda has, values: has in values,
    "NotIn": lambda has, values: has not in values,
    "Exists": lambda has, _: has is not None,
    "DoesNotExist": lambda has, _: has is None,
    "Gt": _greater,
    "Lt": _less,
}
