"""The names and labels of a model's objects: each is built here and nowhere else."""

import hashlib
import json
from typing import Any

from trellis_operator.source import FetchedSource
from trellis_operator.spec import EmbeddingModel

MANAGED_BY = "app.kubernetes.io/managed-by"
INSTANCE = "app.kubernetes.io/instance"
COMPONENT = "app.kubernetes.io/component"
MANAGER = "trellis"

ENGINE = "engine"
GATEWAY = "gateway"
DOWNLOAD = "download"

GRPC_PORT = 50051
ENGINE_METRICS_PORT = 9101
HTTP_PORT = 8080


def engine(model: EmbeddingModel) -> str:
    """Of the engine Deployment, its ServiceAccount, its budget and its policy."""
    return f"{model.name}-engine"


def engines_service(model: EmbeddingModel) -> str:
    """Of the headless Service whose endpoints are the engines."""
    return f"{model.name}-engines"


def gateway(model: EmbeddingModel) -> str:
    """Of the gateway Deployment, its ServiceAccount, its Role and its budget."""
    return f"{model.name}-gateway"


def service(model: EmbeddingModel) -> str:
    """Of the Service that clients call."""
    return model.name


def model_claim(model: EmbeddingModel) -> str:
    """Of the volume claim that holds downloaded weights."""
    return claim_of(model.name)


def claim_of(name: str) -> str:
    """The same, of the model of this name."""
    return f"{name}-model"


def url(model: EmbeddingModel) -> str:
    """Where the API answers inside the cluster; its domain is left out, since clusters may have another."""
    return f"http://{service(model)}.{model.namespace}.svc"


def labels(model: EmbeddingModel, component: str | None = None) -> dict[str, str]:
    """The labels of an object, and of pods."""
    known = {
        MANAGED_BY: MANAGER,
        "app.kubernetes.io/part-of": "trellis",
        "app.kubernetes.io/name": "trellis",
        INSTANCE: model.name,
    }
    return known if component is None else known | {COMPONENT: component}


def selector(model: EmbeddingModel, component: str) -> dict[str, str]:
    """The labels that pods of a component are found by; never to be changed, since a Deployment cannot."""
    return {INSTANCE: model.name, COMPONENT: component}


def is_downloaded(model: EmbeddingModel) -> bool:
    """Whether a Job brings the weights into a volume before any pod is made."""
    return model.cache is not None and isinstance(model.model.source, FetchedSource)


def short_hash(value: Any) -> str:
    """Ten hexadecimal digits of a value's canonical JSON: for names and annotations."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:10]
