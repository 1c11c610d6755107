"""`Traces`: the spans of calls that gateways trace, and of the batches that they went through.

Imported only where traces are asked for. Lives on the event loop's thread: the engine's thread makes no span. Whether a
call is traced is its caller's decision. Attributes are counts and codes.
"""

import time
from collections.abc import Callable, Iterable
from collections.abc import Sequence as Run

from opentelemetry.trace import Span, SpanContext, SpanKind, StatusCode
from trellis_wire.tracing.tracing import Tracing, context_of, trace_id
from trellis_wire.v1.metadata import TRACE_PARENT

from tulip_rose.sequence import Embedded, Sequence, StepTimes

SERVICE = "trellis-engine"
MOST_STEPS = 32
"""Batches of one call that have spans: the first ones."""


class Traces:
    """Of one process."""

    def __init__(self, tracing: Tracing) -> None:
        self.close: Callable[[], None] = tracing.close
        self._tracing = tracing

    @classmethod
    def open(cls, endpoint: str, model: str, ended: Callable[[str, int], None]) -> "Traces":
        """Send to this collector; `ended` is told what became of how many spans."""
        return cls(Tracing(endpoint, SERVICE, model, ended))

    def begin(self, metadata: Iterable[tuple[str, str | bytes]]) -> "CallTrace | None":
        """The trace of an Embed call with this metadata; None: its caller does not trace it."""
        given = {key: value for key, value in metadata if isinstance(value, str)}
        parent = context_of(given) if TRACE_PARENT in given else None
        if parent is None or not parent.trace_flags.sampled:
            return None
        span = self._tracing.begin("embed", parent, time.time_ns(), kind=SpanKind.SERVER)
        return CallTrace(self._tracing, span)

    def settled(self, sequences: Run[Sequence]) -> None:
        """A batch came back. It is of no request alone, so its span is of a trace of its own, linked with theirs."""
        outcome = sequences[0].outcome
        traces = dict.fromkeys(each.trace for each in sequences if isinstance(each.trace, CallTrace))
        if not traces or not isinstance(outcome, Embedded):
            return
        step, offset_ns = outcome.step, _offset_ns()
        span = self._tracing.begin(
            "batch",
            None,
            offset_ns + int(step.taken * 1e9),
            attributes={"trellis.sequences": len(sequences), "trellis.tokens": sum(each.tokens for each in sequences)},
            linked=[trace.context for trace in traces],
        )
        span.end(offset_ns + int(step.settled * 1e9))
        for trace in traces:
            trace.batches[step] = span.get_span_context()


class CallTrace:
    """One Embed call."""

    def __init__(self, tracing: Tracing, span: Span) -> None:
        self.context = span.get_span_context()
        self.batches: dict[StepTimes, SpanContext] = {}
        """Those that had a sequence of this call, in their order."""
        self._tracing = tracing
        self._span = span
        self._offset_ns = _offset_ns()

    @property
    def exemplar(self) -> dict[str, str]:
        """What a histogram may show of this call."""
        return {"trace_id": trace_id(self.context)}

    def embedded(self, sequences: Run[Sequence]) -> None:
        """Every sequence of the call has its rows: these were the stages."""
        tokens = sum(each.tokens for each in sequences)
        self._span.set_attributes({"trellis.sequences": len(sequences), "trellis.tokens": tokens})
        for step, batch in list(self.batches.items())[:MOST_STEPS]:
            self._stage("queue", sequences[0].arrival, step.taken)
            self._stage("launch", step.taken, step.packed)
            self._stage("forward", step.began, step.came, [batch])
            self._stage("settle", step.came, step.settled)

    def end(self, code: str) -> None:
        """The call ends with this gRPC code."""
        self._span.set_attribute("rpc.response.status_code", code)
        if code != "OK":
            self._span.set_status(StatusCode.ERROR)
        self._span.end()

    def _stage(self, name: str, began: float, ended: float, linked: Iterable[SpanContext] = ()) -> None:
        span = self._tracing.begin(name, self.context, self._ns(began), linked=linked)
        span.end(self._ns(ended))

    def _ns(self, seconds: float) -> int:
        return self._offset_ns + int(seconds * 1e9)


def _offset_ns() -> int:
    """What `time.monotonic_ns` lacks to be the time since 1970."""
    return time.time_ns() - time.monotonic_ns()
