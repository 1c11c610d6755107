"""An EmbeddingModel as frozen values: what the pure middle of the operator works on.

Built from a body that `validate` has accepted and defaulted, so nothing is checked twice here.
Never knows a file, a process or a cluster.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trellis_operator.source import Source, source_from


@dataclass(frozen=True)
class Model:
    """Which weights, under which names, in which precision."""

    source: Source
    served_names: tuple[str, ...]
    dtype: str


@dataclass(frozen=True)
class Engine:
    """How engines run. Fields that are None were not set: the engine's own default holds."""

    replicas: int
    accelerated: bool
    attention_backend: str
    max_batch_tokens: int | None
    ready_timeout_s: int
    drain_delay_s: int
    drain_timeout_s: int


@dataclass(frozen=True)
class Gateway:
    """How gateways run. Fields that are None were not set: the gateway's own default holds."""

    replicas: int
    max_queued_tokens: int | None
    retry_budget_percent: int
    api_keys_secret: str | None


@dataclass(frozen=True)
class EmbeddingModel:
    """One manifest. `embedding` is `spec.embedding` as it was written, for the programs that read it."""

    name: str
    model: Model
    embedding: Mapping[str, Any]
    engine: Engine
    gateway: Gateway
    suspended: bool

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> "EmbeddingModel":
        """Read a body that is valid and has its defaults."""
        spec = body["spec"]
        name = body["metadata"]["name"]
        return cls(
            name=name,
            model=_model(spec["model"], name),
            embedding=spec.get("embedding", {}),
            engine=_engine(spec["engine"]),
            gateway=_gateway(spec["gateway"]),
            suspended=spec["suspend"],
        )


def _model(spec: Mapping[str, Any], name: str) -> Model:
    return Model(
        source=source_from(spec["source"]),
        served_names=tuple(spec.get("servedNames", [name])),
        dtype=spec["dtype"],
    )


def _engine(spec: Mapping[str, Any]) -> Engine:
    return Engine(
        replicas=spec["replicas"],
        accelerated="accelerator" in spec,
        attention_backend=spec["attentionBackend"],
        max_batch_tokens=spec.get("batching", {}).get("maxBatchTokens"),
        ready_timeout_s=spec["warmup"]["timeoutSeconds"],
        drain_delay_s=spec["drain"]["delaySeconds"],
        drain_timeout_s=spec["drain"]["timeoutSeconds"],
    )


def _gateway(spec: Mapping[str, Any]) -> Gateway:
    return Gateway(
        replicas=spec["replicas"],
        max_queued_tokens=spec.get("maxQueuedTokens"),
        retry_budget_percent=spec["loadBalancing"]["retryBudgetPercent"],
        api_keys_secret=spec.get("apiKeysSecretRef", {}).get("name"),
    )
