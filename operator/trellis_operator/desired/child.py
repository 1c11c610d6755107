"""What all children of a model share: metadata with an owner, so that they go when the model goes."""

from collections.abc import Mapping
from typing import Any

from trellis_operator.desired import names
from trellis_operator.kinds import EMBEDDING_MODEL, Kind
from trellis_operator.spec import EmbeddingModel

Object = dict[str, Any]


def child(
    kind: Kind,
    model: EmbeddingModel,
    name: str,
    component: str | None = None,
    annotations: Mapping[str, str] | None = None,
    **fields: Any,
) -> Object:
    """One object of a model; `fields` are what stands beside its metadata."""
    metadata: Object = {
        "name": name,
        "namespace": model.namespace,
        "labels": names.labels(model, component),
        "ownerReferences": [_owner(model)],
    }
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, **fields}


def _owner(model: EmbeddingModel) -> Object:
    """Without blockOwnerDeletion: that needs rights on the model's finalizers, and deletion waits for nobody."""
    return {
        "apiVersion": EMBEDDING_MODEL.api_version,
        "kind": EMBEDDING_MODEL.name,
        "name": model.name,
        "uid": model.uid,
        "controller": True,
    }
