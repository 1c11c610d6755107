"""The EmbeddingModels as they were last seen, by namespace and name."""

from collections.abc import Iterator
from typing import Any

from trellis_operator.cluster.store import Key

Object = dict[str, Any]


class Models:
    """Bodies by key. A watch may tell late what a write's answer told before: the newer version stays."""

    def __init__(self) -> None:
        self._bodies: dict[Key, Object] = {}

    def put(self, body: Object) -> bool:
        """Take in a body; returns whether it says something new."""
        key, before = key_of(body), self._bodies.get(key_of(body))
        kept = _without_noise(body)
        if before is not None and before["metadata"]["uid"] == kept["metadata"]["uid"] and _older(kept, before):
            return False
        self._bodies[key] = kept
        return before is None or _told(before) != _told(kept)

    def drop(self, key: Key, uid: str | None = None) -> None:
        """Forget a body, unless another one of that name is there by now."""
        if key in self._bodies and uid in (None, self._bodies[key]["metadata"]["uid"]):
            del self._bodies[key]

    def get(self, key: Key) -> Object | None:
        """The body, if there is one."""
        return self._bodies.get(key)

    def bodies(self) -> list[Object]:
        """All of them, as they are now."""
        return list(self._bodies.values())

    def __iter__(self) -> Iterator[Key]:
        return iter(list(self._bodies))

    def __len__(self) -> int:
        return len(self._bodies)


def key_of(body: Object) -> Key:
    """What a body is found by."""
    return body["metadata"]["namespace"], body["metadata"]["name"]


def _older(one: Object, other: Object) -> bool:
    return int(one["metadata"]["resourceVersion"]) < int(other["metadata"]["resourceVersion"])


def _without_noise(body: Object) -> Object:
    return body | {"metadata": {key: value for key, value in body["metadata"].items() if key != "managedFields"}}


def _told(body: Object) -> Object:
    """What could make a visit end otherwise: not the version, and not what only passes through annotations."""
    metadata = {key: body["metadata"].get(key) for key in ("uid", "generation", "deletionTimestamp", "annotations")}
    return {"metadata": metadata, "status": body.get("status")}
