"""A receiver of OTLP over gRPC in this process, which keeps what the programs send. Knows no program."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2


@dataclass(frozen=True)
class Seen:
    """One span as it came. Ids in hex; `parent` is empty where there is none."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    kind: str
    failed: bool
    attributes: dict[str, Any]
    links: tuple[str, ...]
    began_ns: int
    ended_ns: int


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Takes everything."""

    def __init__(self) -> None:
        self.raw = b""
        """All that ever came."""
        self._spans: list[Seen] = []
        self._lock = threading.Lock()
        self.endpoint = ""

    def Export(self, request: pb.ExportTraceServiceRequest, context: object) -> pb.ExportTraceServiceResponse:
        with self._lock:
            self.raw += request.SerializeToString()
            self._spans.extend(_seen(request))
        return pb.ExportTraceServiceResponse()

    def spans(self, **wanted: object) -> list[Seen]:
        """Those whose fields have these values."""
        with self._lock:
            return [span for span in self._spans if all(getattr(span, key) == it for key, it in wanted.items())]


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a free port, for as long as the block lasts."""
    collector = Collector()
    server = grpc.server(ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)
    collector.endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield collector
    finally:
        server.stop(None).wait()


def _seen(request: pb.ExportTraceServiceRequest) -> Iterator[Seen]:
    for part in request.resource_spans:
        service = str(_values(part.resource.attributes)["service.name"])
        for scope in part.scope_spans:
            for span in scope.spans:
                yield _span(service, span)


def _span(service: str, span: trace_pb2.Span) -> Seen:
    return Seen(
        service,
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        trace_pb2.Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        span.status.code == trace_pb2.Status.STATUS_CODE_ERROR,
        _values(span.attributes),
        tuple(link.span_id.hex() for link in span.links),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {each.key: _value(each) for each in attributes}


def _value(attribute: KeyValue) -> Any:
    kind = attribute.value.WhichOneof("value")
    return getattr(attribute.value, kind) if kind else None
