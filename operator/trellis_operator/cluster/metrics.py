"""The operator's own metrics, `trellis_operator_…`. One object a process, given to those who count."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.002, 0.005, 0.01, 0.05, 0.2, 1, 5, 30)


class Metrics:
    """Counts and times."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._calls = Histogram(
            "trellis_operator_api_call_seconds",
            "Calls to the API server, by method, resource and answer.",
            ["method", "resource", "outcome"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._visits = Histogram(
            "trellis_operator_reconcile_seconds",
            "Visits to a model, by outcome: converged, changed, refused, away, failed.",
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
            "Watches that were begun again, by kind and why: ended, expired, error, away.",
            ["kind", "why"],
            registry=self.registry,
        )
        self.queue_depth = Gauge(
            "trellis_operator_queue_depth", "Models that wait for a visit now.", registry=self.registry
        )
        self.models = Gauge("trellis_operator_models", "Models that are known.", registry=self.registry)
        self.is_leader = Gauge(
            "trellis_operator_is_leader", "1 while this process may write, else 0.", registry=self.registry
        )

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
