"""`spec.engine` as a frozen value. Never knows a process or a pod."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trellis_operator.graphs_spec import Graphs

CPU_GRAPHS = "trellis.dev/cpu-graphs"
"""An accelerator that is none: what graphs do on a GPU is done on a CPU, for tests of everything around them."""

_LAST_WORDS_S = 15


@dataclass(frozen=True)
class Autoscaling:
    """How engines are scaled by the tokens that come and those that wait.

    Attributes:
        target_queued_tokens: waiting tokens an engine; None: what it was measured to do in `target_wait_s`.
        target_wait_s: of work that may wait for an engine.
        target_utilization: the part of its measured capacity that an engine should use, at most 1.
        rate_window_s: over which the rate of tokens is taken.
        prometheus_url: of the Prometheus that scrapes the model; None: the operator's.
        scale_down_stabilization_s: how long fewer engines must suffice before some are taken away.
    """

    min_replicas: int
    max_replicas: int
    target_queued_tokens: int | None
    target_wait_s: int
    target_utilization: float
    rate_window_s: int
    prometheus_url: str | None
    scale_down_stabilization_s: int


@dataclass(frozen=True)
class Engine:
    """How engines run. Fields that are None were not set: the engine's own default holds.

    Attributes:
        accelerator: the resource that each engine gets one of; None runs on the CPU.
        resources: requests and limits, as in a container.
        graphs: of engines on an accelerator.
        verify: whether graphs are compared with steps without graphs before an engine gets ready.
        ready_timeout_s: for loading and warming; an engine that is late ends itself and says why.
        rollout_strategy: auto, surge or inPlace.
        progress_deadline_s: a rollout without progress is then reported as failed.
    """

    replicas: int
    autoscaling: Autoscaling | None
    accelerator: str | None
    resources: Mapping[str, Any]
    attention_backend: str
    max_batch_tokens: int | None
    graphs: Graphs
    verify: bool
    ready_timeout_s: int
    rollout_strategy: str
    progress_deadline_s: int
    drain_delay_s: int
    drain_timeout_s: int

    @property
    def accelerated(self) -> bool:
        """Whether engines have a device of their own."""
        return self.accelerator is not None

    @property
    def wakes(self) -> bool:
        """Whether the last engine may be taken away, and the next request brings one back."""
        return self.autoscaling is not None and self.autoscaling.min_replicas == 0

    @property
    def with_graphs(self) -> bool:
        """Whether engines may have graphs; whether they have shows when they run."""
        return self.accelerated and not self.graphs.off

    @property
    def killed_after_s(self) -> int:
        """When an engine that is not ready may be killed: once it had time to say by itself what it waits for."""
        return self.ready_timeout_s + _LAST_WORDS_S

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> "Engine":
        """Read `spec.engine`, valid and with its defaults."""
        return cls(
            replicas=spec["replicas"],
            autoscaling=_autoscaling(spec["autoscaling"]) if "autoscaling" in spec else None,
            accelerator=spec.get("accelerator", {}).get("resourceName"),
            resources=spec.get("resources", {}),
            attention_backend=spec["attentionBackend"],
            max_batch_tokens=spec.get("batching", {}).get("maxBatchTokens"),
            graphs=Graphs.from_spec(spec["cudaGraphs"]),
            verify=spec["warmup"]["verify"],
            ready_timeout_s=spec["warmup"]["timeoutSeconds"],
            rollout_strategy=spec["rollout"]["strategy"],
            progress_deadline_s=spec["rollout"]["progressDeadlineSeconds"],
            drain_delay_s=spec["drain"]["delaySeconds"],
            drain_timeout_s=spec["drain"]["timeoutSeconds"],
        )


def _autoscaling(spec: Mapping[str, Any]) -> Autoscaling:
    return Autoscaling(
        min_replicas=spec["minReplicas"],
        max_replicas=spec["maxReplicas"],
        target_queued_tokens=spec.get("targetQueuedTokens"),
        target_wait_s=spec["targetWaitSeconds"],
        target_utilization=spec["targetUtilizationPercent"] / 100,
        rate_window_s=spec["rateWindowSeconds"],
        prometheus_url=spec.get("prometheusUrl"),
        scale_down_stabilization_s=spec["scaleDownStabilizationSeconds"],
    )
