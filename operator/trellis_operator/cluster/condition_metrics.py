"""The conditions of all models as a metric, counted when somebody looks. No model is named: there may be thousands."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from trellis_operator.status.tally import tally, unserved


class ConditionMetrics(Collector):
    """`trellis_operator_conditions` and `…_unserved_models`, all at zero until there are models."""

    def __init__(self) -> None:
        self._read: Callable[[], Iterable[dict[str, Any]]] = lambda: ()

    def watch(self, read: Callable[[], Iterable[dict[str, Any]]]) -> None:
        """Ask here for the models from now on."""
        self._read = read

    def collect(self) -> Iterator[Metric]:
        """What Prometheus' client asks for."""
        models = list(self._read())
        text = "Models whose condition has this status."
        family = GaugeMetricFamily("trellis_operator_conditions", text, labels=["type", "status"])
        for labels, count in tally(models).items():
            family.add_metric(labels, count)
        yield family
        text = "Models that are asked to serve and do not, though manifest and source are well."
        yield GaugeMetricFamily("trellis_operator_unserved_models", text, unserved(models))
