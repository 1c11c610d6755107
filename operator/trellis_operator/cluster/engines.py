"""Asks engines how far their warm-up is and what they hold: `Info` over gRPC, each call with a short deadline.

An engine that does not answer is not told of: it starts, it is of an older version, or a NetworkPolicy keeps us out.
"""

import asyncio
import logging
from collections.abc import Iterable

import grpc
import grpc.aio
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1 import embedding_pb2_grpc

from trellis_operator.desired import names
from trellis_operator.plan.pod_view import PodView
from trellis_operator.plan.warmth import Warmth

log = logging.getLogger(__name__)

_TIMEOUT_S = 1.0
MOST = 32
"""Engines of one model that are asked in one visit; those that are not ready come first."""


async def warmth_of(pods: Iterable[PodView], port: int = names.GRPC_PORT) -> tuple[Warmth, ...]:
    """Ask the engines in these pods, all at once; in order of their names."""
    reached = sorted((pod for pod in pods if pod.address), key=lambda pod: (pod.ready, pod.name))[:MOST]
    answers = await asyncio.gather(*(_ask(pod, port) for pod in reached))
    return tuple(sorted((each for each in answers if each is not None), key=lambda each: each.pod))


async def _ask(pod: PodView, port: int) -> Warmth | None:
    host = f"[{pod.address}]" if ":" in pod.address else pod.address
    async with grpc.aio.insecure_channel(f"{host}:{port}", [("grpc.enable_http_proxy", 0)]) as channel:
        try:
            stub = embedding_pb2_grpc.EmbeddingStub(channel)  # type: ignore[no-untyped-call]
            info = await stub.Info(pb.InfoRequest(starting=True), timeout=_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            log.debug("engine %s does not tell how far its warm-up is: %s", pod.name, error.code().name)
            return None
    return warmth(pod.name, info)


def warmth(pod: str, info: pb.InfoResponse) -> Warmth | None:
    """What an engine told; None where it is of a version that tells nothing of it."""
    if not info.HasField("warmup"):
        return None
    told = info.warmup
    return Warmth(
        pod=pod,
        stage=told.stage,
        keys=told.keys,
        captured=told.captured,
        key=told.key,
        has_graphs=info.HasField("graphs"),
        failures=tuple((failure.key, failure.why) for failure in info.graphs.failures),
        crowded=tuple((each.key, each.why) for each in info.graphs.crowded),
        contents=info.contents,
        revision=info.revision,
    )
