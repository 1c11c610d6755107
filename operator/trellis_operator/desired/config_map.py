"""The ConfigMap of a model: what programs read as files. Its name carries its hash, so a change makes new pods."""

import json

from trellis_operator.desired import names
from trellis_operator.desired.child import Object, child
from trellis_operator.kinds import CONFIG_MAP
from trellis_operator.spec import EmbeddingModel

EMBEDDING = "embedding.json"
SOURCE = "source.json"
MOUNT = "/etc/trellis"
VOLUME = "config"


def config_map(model: EmbeddingModel) -> Object:
    """`spec.embedding` for engines and gateways, and `spec.model.source` for what fetches it."""
    return child(CONFIG_MAP, model, config_map_name(model), immutable=True, data=_data(model))


def config_map_name(model: EmbeddingModel) -> str:
    """The name that pods refer to."""
    return f"{model.name}-embedding-{names.short_hash(_data(model))}"


def config_volume(model: EmbeddingModel) -> Object:
    """The volume of a pod that reads it."""
    return {"name": VOLUME, "configMap": {"name": config_map_name(model)}}


def config_mount() -> Object:
    """Where a container finds it."""
    return {"name": VOLUME, "mountPath": MOUNT, "readOnly": True}


def _data(model: EmbeddingModel) -> dict[str, str]:
    return {
        EMBEDDING: json.dumps(model.embedding, sort_keys=True, ensure_ascii=False),
        SOURCE: json.dumps(model.spec["model"]["source"], sort_keys=True, ensure_ascii=False),
    }
