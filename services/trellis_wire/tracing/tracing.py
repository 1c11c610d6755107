"""`Tracing`: makes spans, sends them to a collector over OTLP, and carries their context from call to call.

Imported only where traces are asked for. Whether a request is traced is decided before: what is made here is sent.
"""

import os
import socket
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Link, Span, SpanContext, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from trellis_wire.tracing.span_queue import SpanQueue

EXPORT_TIMEOUT_S = 5.0
CLOSE_S = 2.0
"""For spans that wait when a program ends."""

_W3C = TraceContextTextMapPropagator()


class Tracing:
    """The spans of one process."""

    def __init__(self, endpoint: str, service: str, model: str, ended: Callable[[str, int], None]) -> None:
        """Connects in the background.

        Args:
            endpoint: http:// or https:// with the host and the port of a collector, which is asked directly.
            service: what the traces call this program.
            model: and the model that it serves.
            ended: is told what became of how many spans; called from any thread.
        """
        exporter = OTLPSpanExporter(
            endpoint=endpoint,
            insecure=endpoint.startswith("http://"),
            timeout=EXPORT_TIMEOUT_S,
            channel_options=(("grpc.enable_http_proxy", 0),),  # type: ignore[arg-type]
        )
        self._queue = SpanQueue(exporter, ended)
        about = {
            "service.name": service,
            "service.version": version("trellis-serve"),
            "service.instance.id": f"{socket.gethostname()}-{os.getpid()}",
            "trellis.model": model,
        }
        provider = TracerProvider(sampler=ALWAYS_ON, resource=Resource.create(about), shutdown_on_exit=False)
        provider.add_span_processor(self._queue)
        self._tracer = provider.get_tracer("trellis")

    def begin(
        self,
        name: str,
        parent: SpanContext | None,
        began_ns: int,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Mapping[str, str | int] | None = None,
        linked: Iterable[SpanContext] = (),
    ) -> Span:
        """Begin a span.

        Args:
            name: never made of what a caller sent.
            parent: None begins a trace.
            began_ns: nanoseconds since 1970.
            kind: which end of a call it is.
            attributes: counts and names that the programs know; never of what a caller sent.
            linked: spans of which this one is no child.
        """
        links = [Link(each) for each in linked]
        return self._tracer.start_span(name, _holding(parent), kind, attributes, links, start_time=began_ns)

    def close(self) -> None:
        """Send what waits; returns after `CLOSE_S` seconds at the latest."""
        self._queue.close(CLOSE_S)


def context_of(carried: Mapping[str, str]) -> SpanContext | None:
    """The context that a caller sent as W3C headers, in lower case; None where there is none, or none that is valid."""
    found = trace.get_current_span(_W3C.extract(carried, Context())).get_span_context()
    return found if found.is_valid else None


def carried(context: SpanContext) -> dict[str, str]:
    """A context as W3C headers."""
    headers: dict[str, str] = {}
    _W3C.inject(headers, _holding(context))
    return headers


def trace_id(context: SpanContext) -> str:
    """As logs and exemplars have it."""
    return trace.format_trace_id(context.trace_id)


def _holding(context: SpanContext | None) -> Context:
    """A new context: what the thread's own one holds is nobody's parent."""
    return Context() if context is None else trace.set_span_in_context(trace.NonRecordingSpan(context), Context())
