"""What was observed of all models: their children and pods, small, by model. Filled by informers, read by visits.

Objects are kept as compact JSON: a few hundred bytes each instead of as many kilobytes of dictionaries.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from trellis_operator.desired.names import INSTANCE
from trellis_operator.kinds import CLAIM, DEPLOYMENT, JOB, POD, SCALED_OBJECT, Kind
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.pod_view import PodView, pod_view

Object = dict[str, Any]
Key = tuple[str, str]
"""Namespace and name of an EmbeddingModel."""

_WITH_STATUS = {DEPLOYMENT.name, JOB.name, CLAIM.name}
_METADATA = ("name", "namespace", "uid", "labels", "annotations", "ownerReferences", "generation", "deletionTimestamp")


class Store:
    """Children and pods by model."""

    def __init__(self) -> None:
        self._children: dict[Key, dict[tuple[str, str], tuple[int, bytes]]] = {}
        self._pods: dict[Key, dict[str, PodView]] = {}

    def put(self, kind: Kind, item: Object) -> Key | None:
        """Take in an object; returns its model if anything that matters has changed."""
        key = model_of(item)
        name = item["metadata"]["name"]
        if kind == POD:
            view, pods = pod_view(item), self._pods.setdefault(key, {})
            changed = pods.get(name) != view
            pods[name] = view
            return key if changed else None
        children = self._children.setdefault(key, {})
        version, packed = int(item["metadata"]["resourceVersion"]), _packed(kind, item)
        before = children.get((kind.name, name))
        if before is not None and version < before[0]:
            return None  # a watch may tell what a write's answer told before
        children[kind.name, name] = (version, packed)
        return None if before is not None and before[1] == packed else key

    def drop(self, kind: Kind, item: Object) -> Key | None:
        """Forget an object; returns its model if it was known."""
        return self._forget(kind, model_of(item), item["metadata"]["name"])

    def replace(self, kind: Kind, namespace: str | None, items: Iterable[Object]) -> set[Key]:
        """Take in all objects of a kind at once; what is not among them is gone. Returns the models that changed."""
        listed = list(items)
        there = {(model_of(item), item["metadata"]["name"]) for item in listed}
        gone = [each for each in self._known(kind, namespace) if each not in there]
        changed = [self._forget(kind, key, name) for key, name in gone] + [self.put(kind, item) for item in listed]
        return {key for key in changed if key is not None}

    def observed(self, key: Key, uid: str) -> Observed:
        """The children of the model that has this uid, and its pods."""
        unpacked = {ref: json.loads(packed) for ref, (_, packed) in self._children.get(key, {}).items()}
        children = {ref: item for ref, item in unpacked.items() if owned_by(item, uid)}
        pods = sorted(self._pods.get(key, {}).values(), key=lambda pod: pod.name)
        return Observed(children, tuple(pods))

    def _known(self, kind: Kind, namespace: str | None) -> list[tuple[Key, str]]:
        kept: Mapping[Key, Iterable[str]]
        if kind == POD:
            kept = self._pods
        else:
            kept = {key: [name for of, name in refs if of == kind.name] for key, refs in self._children.items()}
        return [(key, name) for key, found in kept.items() for name in found if namespace in (None, key[0])]

    def _forget(self, kind: Kind, key: Key, name: str) -> Key | None:
        if kind == POD:
            gone: object = self._pods.get(key, {}).pop(name, None)
        else:
            gone = self._children.get(key, {}).pop((kind.name, name), None)
        for kept in (self._pods, self._children):
            if not kept.get(key, True):
                del kept[key]
        return None if gone is None else key


def model_of(item: Object) -> Key:
    """The model that an object says it belongs to."""
    return item["metadata"].get("namespace", ""), item["metadata"].get("labels", {}).get(INSTANCE, "")


def owned_by(item: Object, uid: str) -> bool:
    """Whether the object belongs to the model of this uid, and not to one of that name before it."""
    return any(owner.get("uid") == uid for owner in item["metadata"].get("ownerReferences", []))


def _packed(kind: Kind, item: Object) -> bytes:
    kept = {key: value for key, value in item.items() if key not in ("metadata", "status")}
    kept |= {"apiVersion": kind.api_version, "kind": kind.name}  # the items of a list have neither
    kept["metadata"] = {key: item["metadata"][key] for key in _METADATA if key in item["metadata"]}
    if kind.name in _WITH_STATUS:
        kept["status"] = item.get("status", {})
    elif kind == SCALED_OBJECT:
        # KEDA writes there at every poll; its conditions are what is judged.
        kept["status"] = {"conditions": item.get("status", {}).get("conditions", [])}
    return json.dumps(kept, separators=(",", ":"), sort_keys=True).encode()
