"""The operator's own metrics, `trellis_operator_…`. One object a process, given to those who count."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from trellis_operator.cluster.condition_metrics import ConditionMetrics
from trellis_operator.kinds import CHILDREN, EMBEDDING_MODEL, POD
from trellis_operator.plan.plan import APPLY, DELETE

OUTCOMES = ("converged", "changed", "refused", "gone", "stale", "away", "failed")
"""Of a visit to a model."""
RESTARTS = ("relist", "expired", "error", "away")
"""Why a watch was begun again."""

_SECONDS = (0.002, 0.005, 0.01, 0.05, 0.2, 1, 5, 30)


class Metrics:
    """Counts and times."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._calls = Histogram(
            "trellis_operator_api_call_seconds",
            "Calls to the API server, by method, resource and answer.",
            ["method", "resource", "outcome"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._visits = Histogram(
            "trellis_operator_reconcile_seconds",
            "Visits to a model, by outcome.",
            ["outcome"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._actions = Counter(
            "trellis_operator_plan_actions",
            "Writes to children that were planned, by kind and verb.",
            ["kind", "verb"],
            registry=self.registry,
        )
        self._restarts = Counter(
            "trellis_operator_watch_restarts",
            "Watches that were begun again, by kind and why.",
            ["kind", "why"],
            registry=self.registry,
        )
        self._begin()
        self.queue_depth = Gauge(
            "trellis_operator_queue_depth", "Models that wait for a visit now.", registry=self.registry
        )
        self.models = Gauge("trellis_operator_models", "Models that are known.", registry=self.registry)
        self.conditions = ConditionMetrics()
        self.registry.register(self.conditions)
        self.is_leader = Gauge(
            "trellis_operator_is_leader", "1 while this process may write, else 0.", registry=self.registry
        )

    def _begin(self) -> None:
        """Known label values are there at zero: the first failure is a change, and not a new series."""
        for outcome in OUTCOMES:
            self._visits.labels(outcome)
        for kind in (*CHILDREN, POD):
            for why in RESTARTS:
                self._restarts.labels(kind.name, why)
        self._restarts.labels(EMBEDDING_MODEL.name, "error")
        for kind in CHILDREN:
            for verb in (APPLY, DELETE):
                self._actions.labels(kind.name, verb)

    def call(self, method: str, resource: str, outcome: str, seconds: float) -> None:
        """One call to the API server ended."""
        self._calls.labels(method, resource, outcome).observe(seconds)

    def visit(self, outcome: str, seconds: float) -> None:
        """One visit to a model ended."""
        self._visits.labels(outcome).observe(seconds)

    def action(self, kind: str, verb: str) -> None:
        """One write to a child was planned."""
        self._actions.labels(kind, verb).inc()

    def restart(self, kind: str, why: str) -> None:
        """One watch was begun again."""
        self._restarts.labels(kind, why).inc()

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self.registry)
