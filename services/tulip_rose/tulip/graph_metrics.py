"""What became of graphs, as metrics: read from the engine when somebody looks, so that a step counts only numbers."""

from collections.abc import Callable, Iterator

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tulip_rose.rose.graphs.state import NO_GRAPHS, GraphState

_COUNTERS = {
    "captures": ("captured", "Graphs captured"),
    "capture_failures": ("capture_failed", "Sizes that could not be captured, and are served without a graph"),
    "evictions": ("evicted", "Graphs that made room for others"),
    "replays": ("replayed", "Steps that were replays of a graph"),
    "eager_steps": ("eager", "Steps over static buffers without a graph"),
    "out_of_memory": (
        "out_of_memory",
        "Steps over static buffers that had no room; batches of several texts were split",
    ),
    "pad_tokens": ("pad_tokens", "Rows that steps of fixed sizes had beside the tokens of their texts"),
    "pad_sequences": ("pad_sequences", "Slots that steps of fixed sizes had beside their sequences"),
}
"""Field of the state, and text, by name of the counter."""
_GAUGES = {
    "held": ("held", "Graphs that are there"),
    "to_prewarm": ("to_warm", "Graphs to capture before the engine is ready"),
    "prewarmed": ("warmed", "Of those to capture before the engine is ready, the captured"),
}


class GraphMetrics(Collector):
    """`trellis_engine_graph_…`, all at zero until there is an engine with graphs."""

    def __init__(self) -> None:
        self._read: Callable[[], GraphState] = lambda: NO_GRAPHS

    def watch(self, read: Callable[[], GraphState]) -> None:
        """Ask here from now on; called from any thread."""
        self._read = read

    def collect(self) -> Iterator[Metric]:
        """What Prometheus' client asks for."""
        state = self._read()
        for name, (field, text) in _COUNTERS.items():
            yield CounterMetricFamily(f"trellis_engine_graph_{name}", text, getattr(state, field))
        for name, (field, text) in _GAUGES.items():
            yield GaugeMetricFamily(f"trellis_engine_graph_{name}", text, getattr(state, field))
