"""The ConfigMaps of a model: what programs read as files. Their names carry their hash, so a change makes new pods.

Engines and gateways have one between them, or one each where the manifest says what engines do not read.
"""

import json
from collections.abc import Mapping
from typing import Any

from trellis_operator.desired import names
from trellis_operator.desired.child import Object, child
from trellis_operator.digest import engine_part
from trellis_operator.kinds import CONFIG_MAP
from trellis_operator.spec import EmbeddingModel

EMBEDDING = "embedding.json"
SOURCE = "source.json"
MOUNT = "/etc/trellis"
VOLUME = "config"


def config_maps(model: EmbeddingModel) -> list[Object]:
    """`spec.embedding` for engines and for gateways, and `spec.model.source` for what fetches it."""
    data = {_name(model, each): each for each in (_data(model, names.ENGINE), _data(model, names.GATEWAY))}
    return [child(CONFIG_MAP, model, name, immutable=True, data=each) for name, each in data.items()]


def config_volume(model: EmbeddingModel, component: str) -> Object:
    """The volume of a pod of a component."""
    return {"name": VOLUME, "configMap": {"name": _name(model, _data(model, component))}}


def config_mount() -> Object:
    """Where a container finds it."""
    return {"name": VOLUME, "mountPath": MOUNT, "readOnly": True}


def _name(model: EmbeddingModel, data: Mapping[str, str]) -> str:
    return f"{model.name}-embedding-{names.short_hash(data)}"


def _data(model: EmbeddingModel, component: str) -> dict[str, str]:
    embedding: Mapping[str, Any] = model.embedding if component == names.GATEWAY else engine_part(model.embedding)
    return {
        EMBEDDING: json.dumps(embedding, sort_keys=True, ensure_ascii=False),
        SOURCE: json.dumps(model.spec["model"]["source"], sort_keys=True, ensure_ascii=False),
    }
