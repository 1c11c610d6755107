"""The PodMonitor: what makes a Prometheus operator collect the metrics of engines and gateways."""

from trellis_operator.desired import names
from trellis_operator.desired.child import Object, child
from trellis_operator.kinds import POD_MONITOR
from trellis_operator.spec import EmbeddingModel


def pod_monitor(model: EmbeddingModel) -> Object:
    """Of both kinds of pods: engines have a port for metrics, gateways answer beside the API."""
    return child(
        POD_MONITOR,
        model,
        model.name,
        spec={
            "selector": {"matchLabels": {names.INSTANCE: model.name, names.MANAGED_BY: names.MANAGER}},
            "podMetricsEndpoints": [
                {"port": "metrics", "path": "/metrics"},
                {"port": "http", "path": "/metrics"},
            ],
        },
    )
