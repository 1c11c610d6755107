"""Asks a program on this machine whether it is ready. Never knows who started it."""

import asyncio
import http.client
from collections.abc import Awaitable, Callable

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

Probe = Callable[[], Awaitable[bool]]
"""True when ready. False when not, whatever the reason: a program that starts refuses connections."""

_TIMEOUT_S = 2.0


def engine_probe(address: str) -> Probe:
    """Ask `grpc.health.v1` at HOST:PORT for the service `readiness`."""

    async def probe() -> bool:
        # A new channel each time: one that has failed before would wait out its own back-off.
        async with grpc.aio.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
            request = health_pb2.HealthCheckRequest(service="readiness")
            try:
                answer = await health_pb2_grpc.HealthStub(channel).Check(request, timeout=_TIMEOUT_S)
            except grpc.aio.AioRpcError:
                return False
            return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    return probe


def gateway_probe(host: str, port: int) -> Probe:
    """Ask `GET /readyz`."""

    async def probe() -> bool:
        return await asyncio.to_thread(_get_readyz, host, port)

    return probe


def _get_readyz(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
