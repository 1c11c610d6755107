"""An EmbeddingModel as frozen values: what the pure middle of the operator works on.

Built from a body that `validate` has accepted and defaulted, so nothing is checked twice here.
Never knows a file, a process or a cluster.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trellis_operator.digest import engine_digest, model_digest
from trellis_operator.engine_spec import Engine
from trellis_operator.gateway_spec import Gateway
from trellis_operator.source import Source, can_change, source_from

RESTART_ANNOTATION = "trellis.dev/restart"
"""Whatever a person writes there: another text makes the pods anew, as this operator would make them."""


@dataclass(frozen=True)
class Model:
    """Which weights, under which names, in which precision."""

    source: Source
    served_names: tuple[str, ...]
    dtype: str


@dataclass(frozen=True)
class Cache:
    """A volume that is made for a model's weights.

    Attributes:
        size: a quantity, e.g. 20Gi.
        storage_class: None takes the cluster's default.
        access_mode: ReadWriteMany or ReadWriteOnce.
    """

    size: str
    storage_class: str | None
    access_mode: str


@dataclass(frozen=True)
class Download:
    """When a download is given up."""

    deadline_s: int
    stall_s: int


@dataclass(frozen=True)
class Tracing:
    """Where traces go, and how many requests have one."""

    endpoint: str
    sample_percent: float


@dataclass(frozen=True)
class EmbeddingModel:
    """One manifest.

    Attributes:
        namespace: empty where the manifest says none.
        uid: of the object in a cluster; empty elsewhere.
        generation: of the spec in a cluster; 0 elsewhere.
        embedding: `spec.embedding` as it was written, for the programs that read it.
        cache: None keeps weights on each pod's own disk.
        scheduling: `spec.scheduling` as it was written.
        pod_monitor: auto, enabled or disabled.
        tracing: None traces nothing.
        max_unavailable: pods of each kind that a drain of nodes may take at once.
        restart: what a person wrote into the annotation that makes pods anew.
        digest: of everything that changes vectors.
        engine_digest: of the part of it that engines see.
        spec: all of it, with its defaults.
    """

    name: str
    namespace: str
    uid: str
    generation: int
    model: Model
    embedding: Mapping[str, Any]
    cache: Cache | None
    download: Download
    engine: Engine
    gateway: Gateway
    scheduling: Mapping[str, Any]
    pod_monitor: str
    tracing: Tracing | None
    max_unavailable: int
    suspended: bool
    restart: str
    digest: str
    engine_digest: str
    spec: Mapping[str, Any]

    @property
    def is_asked(self) -> bool:
        """Whether its engines are asked what they do and hold: of others it is known."""
        return self.engine.with_graphs or can_change(self.model.source)

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> "EmbeddingModel":
        """Read a body that is valid and has its defaults."""
        spec, metadata = body["spec"], body["metadata"]
        return cls(
            name=metadata["name"],
            namespace=metadata.get("namespace", ""),
            uid=metadata.get("uid", ""),
            generation=metadata.get("generation", 0),
            model=_model(spec["model"], metadata["name"]),
            embedding=spec.get("embedding", {}),
            cache=_cache(spec["cache"]),
            download=_download(spec["cache"]["download"]),
            engine=Engine.from_spec(spec["engine"]),
            gateway=Gateway.from_spec(spec["gateway"]),
            scheduling=spec.get("scheduling", {}),
            pod_monitor=spec["monitoring"]["podMonitor"],
            tracing=_tracing(spec["monitoring"].get("tracing")),
            max_unavailable=spec["disruption"]["maxUnavailable"],
            suspended=spec["suspend"],
            restart=(metadata.get("annotations") or {}).get(RESTART_ANNOTATION, ""),
            digest=model_digest(spec),
            engine_digest=engine_digest(spec),
            spec=spec,
        )


def _model(spec: Mapping[str, Any], name: str) -> Model:
    return Model(
        source=source_from(spec["source"]),
        served_names=tuple(spec.get("servedNames", [name])),
        dtype=spec["dtype"],
    )


def _cache(spec: Mapping[str, Any]) -> Cache | None:
    claim = spec.get("persistentVolumeClaim")
    if claim is None:
        return None
    return Cache(
        size=str(claim["size"]),
        storage_class=claim.get("storageClassName"),
        access_mode=claim["accessMode"],
    )


def _tracing(spec: Mapping[str, Any] | None) -> Tracing | None:
    return None if spec is None else Tracing(spec["endpoint"], spec["samplePercent"])


def _download(spec: Mapping[str, Any]) -> Download:
    return Download(deadline_s=spec["deadlineSeconds"], stall_s=spec["stallSeconds"])
