"""`Family`: what the programs export, read from their own registries. Knows no dashboard."""

from dataclasses import dataclass

from ivy.client.endpoint import Endpoint
from ivy.errors import leaves
from ivy.metrics import Metrics as GatewayMetrics
from ivy.surfaces.registry import PATHS
from prometheus_client import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from trellis_operator.cluster.metrics import Metrics as OperatorMetrics
from trellis_operator.sources.display import Lines
from trellis_operator.sources.metrics import FetchMetrics
from trellis_operator.sources.progress import Progress
from tulip_rose.rose.card import ModelCard
from tulip_rose.tulip.metrics import Metrics as EngineMetrics


@dataclass(frozen=True)
class Family:
    """One metric.

    Attributes:
        program: which one exports it.
        name: as in queries; a histogram's without `_bucket`.
        kind: counter, gauge or histogram.
        labels: without `le`.
    """

    program: str
    name: str
    kind: str
    labels: tuple[str, ...]
    text: str


def families() -> list[Family]:
    """All families of all programs, in the order in which they are shown."""
    shown = {"gateway": _gateway(), "engine": _engine(), "operator": _operator(), "fetch": _fetch()}
    return [
        _family(program, metric)
        for program, text in shown.items()
        for metric in text_string_to_metric_families(text.decode())
    ]


def _family(program: str, metric: Metric) -> Family:
    name = f"{metric.name}_total" if metric.type == "counter" else metric.name
    labels = {label: None for sample in metric.samples for label in sample.labels if label != "le"}
    return Family(program, name, metric.type, tuple(labels), metric.documentation)


def _gateway() -> bytes:
    metrics = GatewayMetrics(PATHS, sorted({200, *(leaf.status for leaf in leaves())}))
    metrics.discovery()
    metrics.connected()
    metrics.peers()
    metrics.endpoint_came(Endpoint("engine:50051"))
    return metrics.exposition()


def _engine() -> bytes:
    metrics = EngineMetrics()
    card = ModelCard("bert", "float32", "cpu", "torch", 384, (), 256, 30522, "mean", True, "digest")
    metrics.set_card("model", card, "contents")
    return generate_latest(metrics.registry)


def _operator() -> bytes:
    metrics = OperatorMetrics()
    metrics.call("GET", "pods", "200", 0.0)
    return metrics.text()


def _fetch() -> bytes:
    return generate_latest(FetchMetrics(Progress(Lines(print))).registry)
