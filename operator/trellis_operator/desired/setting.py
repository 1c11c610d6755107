"""What a cluster and the operator's flags add to a spec. Never knows one model."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Authentication:
    """How KEDA shows a Prometheus who it is.

    Attributes:
        kind: TriggerAuthentication, one in each model's namespace, or ClusterTriggerAuthentication.
        name: of it.
        modes: bearer, basic, tls or custom; as KEDA's trigger has them.
    """

    kind: str
    name: str
    modes: tuple[str, ...]


@dataclass(frozen=True)
class ClusterSetting:
    """Where and with which images pods are made.

    Attributes:
        engine_image: of engines.
        gateway_image: of gateways.
        fetch_image: of what fetches models: the operator's own.
        fetch_env: environment of what fetches models, names and values; a Secret of a model comes before it.
        operator_namespace: where the operator runs, which asks engines how far their warm-up is.
        pull_policy: Always, IfNotPresent or Never.
        image_volumes: whether nodes mount container images as volumes.
        prometheus_url: of the Prometheus that scrapes models; a model may name another. None: there is none for all.
        prometheus_authentication: at that Prometheus; None: it asks for nothing.
        served: names of the optional kinds that the API server knows.
    """

    engine_image: str
    gateway_image: str
    fetch_image: str
    fetch_env: tuple[tuple[str, str], ...] = ()
    operator_namespace: str = "default"
    pull_policy: str = "IfNotPresent"
    image_volumes: bool = False
    prometheus_url: str | None = None
    prometheus_authentication: Authentication | None = None
    served: frozenset[str] = frozenset()
