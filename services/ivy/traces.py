"""`Traces`: which requests are traced, and `RequestTrace`: the spans of one. Imported only where traces are asked for.

Attributes are counts, codes and names of our own: never a text, a key, a header or a path of a caller.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from random import Random

from opentelemetry.trace import NonRecordingSpan, Span, SpanKind, StatusCode
from trellis_wire.tracing.tracing import Tracing, carried, context_of, trace_id

from ivy.chunks import Chunk
from ivy.config import Config
from ivy.metrics import Metrics
from ivy.timing import Metadata, Timing

SERVICE = "trellis-gateway"
_CARRIED = ("traceparent", "tracestate")


class Traces:
    """Begins traces.

    Whether a request is traced is decided here, for every program behind: as its caller decided, and for callers that
    say nothing by chance.
    """

    def __init__(self, tracing: Tracing, sample_percent: float, random: Random | None = None) -> None:
        self.close: Callable[[], None] = tracing.close
        self._tracing = tracing
        self._share = sample_percent / 100
        self._random = random or Random()  # noqa: S311 (picks samples, keeps no secret)

    @classmethod
    def open(cls, config: Config, endpoint: str, metrics: Metrics) -> "Traces":
        """Send to this collector."""
        tracing = Tracing(endpoint, SERVICE, config.served_names[0], metrics.spans_ended)
        return cls(tracing, config.trace_sample_percent)

    def begin(self, headers: Mapping[str, str], method: str, route: str, timing: Timing) -> "RequestTrace | None":
        """The trace of a request; None: it belongs to none.

        One whose caller does not sample has a trace without spans: its log lines, here and in engines, name it.
        """
        given = {name: headers[name] for name in _CARRIED if name in headers}
        parent = context_of(given) if given else None
        if parent is None and self._random.random() >= self._share:
            return None
        offset_ns = time.time_ns() - time.perf_counter_ns()
        if parent is not None and not parent.trace_flags.sampled:
            return RequestTrace(self._tracing, NonRecordingSpan(parent), offset_ns)
        attributes = {"http.request.method": method, "http.route": route}
        span = self._tracing.begin(
            f"{method} {route}",
            parent,
            offset_ns + int(timing.began * 1e9),
            kind=SpanKind.SERVER,
            attributes=attributes,
        )
        return RequestTrace(self._tracing, span, offset_ns)


class RequestTrace:
    """One request. Its spans are those of the gateway's stages and of each call to an engine."""

    def __init__(self, tracing: Tracing, span: Span, offset_ns: int) -> None:
        """`offset_ns` is what `time.perf_counter_ns` lacks to be the time since 1970."""
        self._tracing = tracing
        self._span = span
        self._context = span.get_span_context()
        self._offset_ns = offset_ns
        self.trace_id = trace_id(self._context)

    @property
    def exemplar(self) -> dict[str, str] | None:
        """What a histogram may show of this request; None where no collector will know it."""
        return {"trace_id": self.trace_id} if self._span.is_recording() else None

    def stage(self, name: str, began: float, ended: float) -> None:
        """A stage of the gateway is over; times are of `time.perf_counter`."""
        if self._span.is_recording():
            span = self._tracing.begin(name, self._context, self._ns(began))
            span.end(self._ns(ended))

    @contextmanager
    def call(self, chunk: Chunk) -> Iterator[Metadata]:
        """A call to an engine, for as long as the block lasts; gives what is to travel beside it."""
        if not self._span.is_recording():
            yield tuple(carried(self._context).items())
            return
        attributes: dict[str, str | int] = {
            "rpc.system": "grpc",
            "rpc.service": "trellis.v1.Embedding",
            "rpc.method": "Embed",
            "trellis.sequences": len(chunk.inputs),
            "trellis.tokens": chunk.tokens,
        }
        span = self._tracing.begin(
            "trellis.v1.Embedding/Embed", self._context, time.time_ns(), kind=SpanKind.CLIENT, attributes=attributes
        )
        try:
            yield tuple(carried(span.get_span_context()).items())
        except BaseException as error:
            _failed(span, type(error).__name__)
            raise
        finally:
            span.end()

    def end(self, status: int, inputs: int, tokens: int) -> None:
        """The request is answered with this status, or its caller is gone."""
        if not self._span.is_recording():
            return
        self._span.set_attributes(
            {"http.response.status_code": status, "trellis.inputs": inputs, "trellis.tokens": tokens}
        )
        if status >= 500:
            _failed(self._span, str(status))
        self._span.end()

    def _ns(self, seconds: float) -> int:
        return self._offset_ns + int(seconds * 1e9)


def _failed(span: Span, kind: str) -> None:
    """Say what kind of failure it was. An exception's own words may quote what a caller sent."""
    span.set_status(StatusCode.ERROR)
    span.set_attribute("error.type", kind)
