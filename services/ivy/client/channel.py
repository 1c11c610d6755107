"""One gRPC channel to one engine, and what is asked over it. Knows no other engine."""

from typing import cast

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1 import embedding_pb2_grpc

from ivy.client.card import Card, card_of
from ivy.timing import Metadata

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
LOOK_TIMEOUT_S = 2.0

_OPTIONS = (
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    # A started engine is found within half a second, for others may end as soon as it is ready; the usual back-off
    # grows to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 400),
    # An engine's host that vanished without a word is noticed. The looks keep data on the wire between the pings.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Engines are asked directly, whatever proxies the environment names; retries are decided in `Engines`.
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
)


class EngineChannel:
    """The calls that a gateway makes to an engine."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.aio.insecure_channel(address, options=_OPTIONS)
        self._embedding = embedding_pb2_grpc.EmbeddingStub(self._channel)  # type: ignore[no-untyped-call]
        self._health = health_pb2_grpc.HealthStub(self._channel)

    async def embed(self, request: pb.EmbedRequest, timeout_s: float, metadata: Metadata) -> pb.EmbedResponse:
        """Embed one chunk; `metadata` travels beside it. Cancelling the caller cancels the call.

        Raises:
            grpc.RpcError: there was no answer, or the answer was an error.
        """
        return cast(pb.EmbedResponse, await self._embedding.Embed(request, timeout=timeout_s, metadata=metadata))

    async def look(self) -> Card | None:
        """The engine's card, or None where it says that it does not serve.

        Raises:
            grpc.RpcError: there was no answer.
            ValueError: the answer is no card.
        """
        asked = health_pb2.HealthCheckRequest(service="readiness")
        health = await self._health.Check(asked, timeout=LOOK_TIMEOUT_S)
        if health.status != health_pb2.HealthCheckResponse.SERVING:
            return None
        return card_of(await self._embedding.Info(pb.InfoRequest(), timeout=LOOK_TIMEOUT_S))

    async def close(self) -> None:
        """End the connection and every call on it."""
        await self._channel.close()
