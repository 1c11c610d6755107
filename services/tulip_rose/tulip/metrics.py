"""What the engine process counts. Every family, and every known label value, is there at zero from the start.

Knows no gRPC and no device; callable from any thread.
"""

from collections.abc import Callable
from collections.abc import Sequence as Run

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from trellis_wire.tracing.outcomes import OUTCOMES as SPAN_OUTCOMES

from tulip_rose.rose.card import ModelCard
from tulip_rose.rose.plan.memory import DEVICE_PARTS, PINNED_PARTS, Memory
from tulip_rose.sequence import Embedded, Sequence, StepTimes
from tulip_rose.tulip.capacity import Capacity
from tulip_rose.tulip.errors import Cancelled, DeadlinePassed
from tulip_rose.tulip.graph_metrics import GraphMetrics
from tulip_rose.tulip.status import CODES
from tulip_rose.tulip.warmup import Warmup

OUTCOMES = ("embedded", "failed", "dropped")
REASONS = ("deadline", "cancelled", "engine")
_REASON_OF: dict[type[Exception], str] = {DeadlinePassed: "deadline", Cancelled: "cancelled"}

_TOKENS = (16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
_SEQUENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)
_SECONDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
_CARD_LABELS = ("model", "model_digest", "contents", "architecture", "dtype", "device", "attention_backend")


class Metrics:
    """The families of one process, in a registry of their own."""

    def __init__(self) -> None:
        # A `_created` series beside each counter doubles what is scraped, and says only when the process began.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._count_calls()
        self._count_sequences()
        self._measure_batches()
        self._watch_state()
        self._graphs = GraphMetrics()
        self.registry.register(self._graphs)

    def set_card(self, name: str, card: ModelCard, contents: str) -> None:
        """The model is loaded and served under this name, from files that `contents` names."""
        self._info.labels(
            name, card.model_digest, contents, card.architecture, card.dtype, card.device, card.attention_backend
        ).set(1)

    def watch_memory(self, memory: Memory) -> None:
        """Say what was planned, and read what is used when somebody looks."""
        for part, size in memory.planned.items():
            self._planned[part].set(size)
        self._used.set_function(memory.used)

    def watch_warmup(self, warmup: Warmup, timeout_s: float) -> None:
        """Read how far the start is, and what becomes of graphs, when somebody looks; it may take so many seconds."""
        self._warmup_seconds.set_function(warmup.seconds)
        self._warmup_timeout.set(timeout_s)
        self._graphs.watch(lambda: warmup.graphs)

    def watch_queue(
        self,
        most: int,
        in_a_batch: int,
        tokens: Callable[[], int],
        sequences: Callable[[], int],
        in_flight: Callable[[], int],
    ) -> None:
        """Read the queue's gauges from the queue when somebody looks: a gauge set on each change costs each call.

        At most so many tokens wait, and are in a batch.
        """
        self._max_queued_tokens.set(most)
        self._max_batch_tokens.set(in_a_batch)
        self._queued_tokens.set_function(tokens)
        self._queued_sequences.set_function(sequences)
        self._in_flight_tokens.set_function(in_flight)

    def call_ended(self, code: str) -> None:
        """An Embed call was answered with this gRPC status code."""
        self._calls[code].inc()

    def spans_ended(self, outcome: str, spans: int) -> None:
        """This became of so many spans of traces."""
        self._spans[outcome].inc(spans)

    def launched(self, sequences: int, tokens: int) -> None:
        """A batch goes to the device."""
        self._tokens.inc(tokens)
        self._batch_tokens.observe(tokens)
        self._batch_sequences.observe(sequences)

    def stepped(self, tokens: int, step: StepTimes) -> None:
        """A batch of so many tokens came back with rows."""
        self._launch_seconds.observe(step.launch_s)
        self._forward_seconds.observe(step.forward_s)
        self._settle_seconds.observe(step.settle_s)
        self._capacity.settled(tokens, step.forward_s)

    def settled(self, sequences: Run[Sequence]) -> None:
        """Sequences have their outcomes: of a batch, or of those that left the queue without one."""
        embedded = late = 0
        for sequence in sequences:
            embedded += type(sequence.outcome) is Embedded
            late += type(sequence.outcome) is DeadlinePassed
        self._outcomes["embedded"].inc(embedded)
        self._outcomes["failed"].inc(len(sequences) - embedded - late)
        self._drop("deadline", late)

    def dropped(self, outcome: Exception, sequences: int) -> None:
        """Sequences left the queue with their caller, before the device began."""
        self._drop(_REASON_OF.get(type(outcome), "engine"), sequences)

    def _drop(self, reason: str, sequences: int) -> None:
        self._outcomes["dropped"].inc(sequences)
        self._reasons[reason].inc(sequences)

    def _count_calls(self) -> None:
        calls = self._counter("calls", "Embed calls by gRPC status code", "code")
        self._calls = {code: calls.labels(code) for code in CODES}
        self.rejected = self._counter("rejected_calls", "Embed calls refused because the queue was full")
        spans = self._counter("spans", "Spans of traces, by what became of them", "outcome")
        self._spans = {outcome: spans.labels(outcome) for outcome in SPAN_OUTCOMES}
        self.queue_seconds = self._histogram("queue_seconds", "Longest wait in the queue, a call", _SECONDS)

    def _count_sequences(self) -> None:
        outcomes = self._counter("sequences", "Sequences by what became of them", "outcome")
        self._outcomes = {outcome: outcomes.labels(outcome) for outcome in OUTCOMES}
        reasons = self._counter("dropped_sequences", "Sequences dropped before the device began, by reason", "reason")
        self._reasons = {reason: reasons.labels(reason) for reason in REASONS}
        self.nonfinite_rows = self._counter("nonfinite_rows", "Rows that failed: a value was not finite")

    def _measure_batches(self) -> None:
        self._tokens = self._counter("tokens", "Tokens handed to the device")
        self._batch_tokens = self._histogram("batch_tokens", "Tokens in a batch", _TOKENS)
        self._batch_sequences = self._histogram("batch_sequences", "Sequences in a batch", _SEQUENCES)
        self._launch_seconds = self._histogram("launch_seconds", "From the queue to the engine, a batch", _SECONDS)
        self._forward_seconds = self._histogram(
            "forward_seconds", "From launch, or from the result of the batch before, to its result", _SECONDS
        )
        self._settle_seconds = self._histogram("settle_seconds", "From result to rows, a batch", _SECONDS)
        self.step_failures = self._counter("step_failures", "Batches that the engine failed on")
        self._capacity = Capacity()
        self._gauge(
            "capacity_tokens_per_second", "Tokens a second while a batch is under way, lately; 0 before the first one"
        ).set_function(self._capacity.tokens_per_second)

    def _watch_state(self) -> None:
        self._max_queued_tokens = self._gauge("max_queued_tokens", "Tokens that may wait; 0 before the model is loaded")
        self._max_batch_tokens = self._gauge(
            "max_batch_tokens", "Tokens that a batch may have; 0 before the model is loaded"
        )
        self._queued_tokens = self._gauge("queued_tokens", "Tokens that wait for the device")
        self._queued_sequences = self._gauge("queued_sequences", "Sequences that wait for the device")
        self._in_flight_tokens = self._gauge("in_flight_tokens", "Tokens that the device has and has not given back")
        self.up = self._gauge("up", "1 while the engine is loaded, alive and not stuck")
        self.draining = self._gauge("draining", "1 from the signal to stop until the end")
        self._warmup_seconds = self._gauge(
            "warmup_seconds", "From the start of the process until it was ready, or so far"
        )
        self._warmup_timeout = self._gauge(
            "warmup_timeout_seconds", "That the start may take: a process that needs longer ends"
        )
        planned = self._gauge("memory_planned_bytes", "Planned before the start, of an engine with graphs", "part")
        self._planned = {part: planned.labels(part) for part in (*DEVICE_PARTS, *PINNED_PARTS)}
        self._used = self._gauge("memory_used_bytes", "Taken of a GPU by this process, the driver's share left out")
        self._info = self._gauge("info", "The model served, in labels", *_CARD_LABELS)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"trellis_engine_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"trellis_engine_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: Run[float]) -> Histogram:
        return Histogram(f"trellis_engine_{name}", text, buckets=buckets, registry=self.registry)
