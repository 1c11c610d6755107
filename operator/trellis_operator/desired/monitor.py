"""The PodMonitor: what makes a Prometheus operator collect the metrics of engines and gateways."""

import re

from trellis_operator.desired import names
from trellis_operator.desired.child import Object, child
from trellis_operator.kinds import POD_MONITOR
from trellis_operator.spec import EmbeddingModel

MODEL_LABEL = "embedding_model"
"""What every series of a model's pods carries, with the EmbeddingModel's name: dashboards and alerts go by it."""
_INSTANCE = "__meta_kubernetes_pod_label_" + re.sub(r"[^a-zA-Z0-9]", "_", names.INSTANCE)


def pod_monitor(model: EmbeddingModel) -> Object:
    """Of both kinds of pods: engines have a port for metrics, gateways answer beside the API."""
    return child(
        POD_MONITOR,
        model,
        model.name,
        spec={
            "selector": {"matchLabels": {names.INSTANCE: model.name, names.MANAGED_BY: names.MANAGER}},
            "podMetricsEndpoints": [_endpoint("metrics"), _endpoint("http")],
        },
    )


def _endpoint(port: str) -> Object:
    name = {"sourceLabels": [_INSTANCE], "targetLabel": MODEL_LABEL}
    return {"port": port, "path": "/metrics", "relabelings": [name]}
