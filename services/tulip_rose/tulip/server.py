"""The gRPC and the metrics server: opened here, with their limits. Knows no model and no life of the process."""

from collections.abc import Callable

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from prometheus_client import start_http_server
from trellis_wire.v1 import embedding_pb2, embedding_pb2_grpc

from tulip_rose.tulip.asked import MAX_MESSAGE_BYTES
from tulip_rose.tulip.config import Address
from tulip_rose.tulip.errors import ConfigError
from tulip_rose.tulip.health import Watch
from tulip_rose.tulip.metrics import Metrics
from tulip_rose.tulip.servicer import EmbeddingServicer

_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # Without this two engines share a port in silence, and each gets half of the other's calls.
    ("grpc.so_reuseport", 0),
    # Gateways keep connections open and ping them; the default answers frequent pings by hanging up.
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
)


def open_grpc(address: Address, servicer: EmbeddingServicer, watch: Watch) -> tuple[grpc.aio.Server, Address]:
    """Make the server and bind it; it takes calls once started.

    Returns:
        The server, and where it listens (the port is the real one where 0 was asked for).

    Raises:
        ConfigError: the address cannot be had.
    """
    server = grpc.aio.server(options=_OPTIONS)
    embedding_pb2_grpc.add_EmbeddingServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]
    health_pb2_grpc.add_HealthServicer_to_server(watch.servicer, server)
    names = [embedding_pb2.DESCRIPTOR.services_by_name["Embedding"].full_name, health.SERVICE_NAME]
    reflection.enable_server_reflection([*names, reflection.SERVICE_NAME], server)
    try:
        port = server.add_insecure_port(str(address))
    except RuntimeError:
        port = 0
    if not port:
        raise ConfigError(f"--listen: {address} cannot be had: is the port taken?")
    return server, Address(address.host, port)


def open_metrics(address: Address, metrics: Metrics) -> tuple[Callable[[], None], Address]:
    """Serve `/metrics` from a thread of its own: it answers even when the event loop is busy.

    Returns:
        What stops it, and where it listens.

    Raises:
        ConfigError: the address cannot be had.
    """
    try:
        server, thread = start_http_server(address.port, address.host, metrics.registry)
    except OSError as error:
        raise ConfigError(f"--metrics-listen: {address} cannot be had: {error.strerror or error}") from None

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join(1.0)

    return stop, Address(address.host, server.server_port)
