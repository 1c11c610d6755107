"""What each engine costs each gateway, and a request its gateway: `python -m bench.fleet.edges`.

Measured are processor times, which a busy machine disturbs less than times on a clock. Knows no simulation.
"""

import asyncio
import json
import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from multiprocessing.connection import Connection
from random import Random
from typing import Any

import grpc
import psutil
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from ivy.client.channel import EngineChannel
from ivy.client.picking import pick
from kubernetes import client as kube
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1 import embedding_pb2_grpc

from bench.fleet.cell import DIGEST, ready_endpoint
from bench.models import minilm
from bench.record import surroundings, table, write
from bench.servers import trellis
from bench.tracing_cost import Caller
from bench.workload import of_length

SLICE = 100
"""Endpoints that Kubernetes puts into one EndpointSlice, by default."""
_COUNTS = (10, 100, 1_000, 10_000)
_CHANNELS = 200
_ROUNDS = 10


def main() -> None:
    """Measure, print and record."""
    around = surroundings(("grpcio", "kubernetes", "aiohttp"))
    found = {
        "slice_bytes": slice_bytes(SLICE),
        "pick_us": {count: pick_us(count) for count in _COUNTS},
        **_looks(),
        **_gateway(),
    }
    rows = [[name, _shown(value)] for name, value in found.items()]
    path = write(
        "fleet-edges",
        "What an engine costs each gateway",
        around,
        [("Measured", _ABOUT + table(["", "measured"], rows))],
        found,
    )
    print(path.read_text(encoding="utf-8"))


_ABOUT = (
    f"slice_bytes: JSON of one EndpointSlice of {SLICE} endpoints. pick_us: one choice of an engine among so many, by "
    "the gateway's own code. look_cpu_us: processor time of the asking process for one look (a health call and Info); "
    "connection_kib: its resident memory for a connection. gateway_cpu_us: of the gateway's process for a request of "
    "1 text and of 16 texts of 16 tokens. start_s: from the start of an engine's process until it and then a gateway "
    "were ready, on a machine that others used.\n\n"
)


def slice_bytes(endpoints: int) -> int:
    """JSON bytes of an EndpointSlice as a cluster has them for a model's engines."""
    owner = kube.V1OwnerReference(
        api_version="v1", controller=True, block_owner_deletion=True, kind="Service", name=_NAME, uid=_UID
    )
    labels = {
        "app.kubernetes.io/component": "engine",
        "app.kubernetes.io/instance": _NAME,
        "app.kubernetes.io/managed-by": "trellis",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": _NAME,
        "service.kubernetes.io/headless": "",
    }
    whole = kube.V1EndpointSlice(
        api_version="discovery.k8s.io/v1",
        kind="EndpointSlice",
        address_type="IPv4",
        endpoints=[_endpoint(number) for number in range(endpoints)],
        metadata=kube.V1ObjectMeta(
            name=f"{_NAME}-x7k2p",
            namespace="models",
            uid=_UID,
            resource_version="123456789",
            generation=42,
            generate_name=f"{_NAME}-",
            labels=labels,
            owner_references=[owner],
        ),
        ports=[kube.DiscoveryV1EndpointPort(name=name, port=port, protocol="TCP") for name, port in _PORTS],
    )
    plain = kube.ApiClient().sanitize_for_serialization(whole)  # type: ignore[no-untyped-call]
    return len(json.dumps(plain, separators=(",", ":")))


_NAME = "all-minilm-l6-v2-engine"
_UID = "0f3c1c52-7a0e-4c55-9d0c-3e5f0a6b8d11"
_PORTS = (("grpc", 50051), ("metrics", 9101))


def _endpoint(number: int) -> kube.V1Endpoint:
    pod = kube.V1ObjectReference(kind="Pod", namespace="models", name=f"{_NAME}-6d5f7c9b8-{number:05d}", uid=_UID)
    return kube.V1Endpoint(
        addresses=[f"10.{64 + number // 65536}.{number // 256 % 256}.{number % 256}"],
        conditions=kube.V1EndpointConditions(ready=True, serving=True, terminating=False),
        node_name=f"ip-10-64-{number // 256 % 256}-{number % 256}.internal",
        target_ref=pod,
        zone="region-1a",
    )


def pick_us(endpoints: int) -> float:
    """Of one choice among so many that are all ready."""
    random = Random(1)
    all_of_them = [ready_endpoint(number) for number in range(endpoints)]
    picks = max(3, 200_000 // endpoints)
    began = time.process_time()
    for _ in range(picks):
        pick(all_of_them, DIGEST, 64, 100.0, random)
    return (time.process_time() - began) / picks * 1e6


def _looks() -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        return asyncio.run(_looked(f"127.0.0.1:{ours.recv()}"))
    finally:
        process.terminate()
        process.join()


async def _looked(address: str) -> dict[str, float]:
    before = psutil.Process().memory_info().rss
    channels = [EngineChannel(address) for _ in range(_CHANNELS)]
    await asyncio.gather(*(channel.look() for channel in channels))
    kib = (psutil.Process().memory_info().rss - before) / 1024 / _CHANNELS
    began = time.process_time()
    for _ in range(_ROUNDS):
        for channel in channels:
            await channel.look()
    spent = time.process_time() - began
    for channel in channels:
        await channel.close()
    return {"look_cpu_us": spent / _ROUNDS / _CHANNELS * 1e6, "connection_kib": kib}


class _Engine(embedding_pb2_grpc.EmbeddingServicer):
    """Says what it is, and no more."""

    def Info(self, request: pb.InfoRequest, context: grpc.ServicerContext) -> pb.InfoResponse:  # noqa: N802
        return pb.InfoResponse(
            model_digest=DIGEST,
            dimensions=384,
            max_input_tokens=512,
            vocabulary_size=30522,
            max_batch_tokens=512,
            max_queued_tokens=131072,
        )


def _serve(told: Connection) -> None:
    server = grpc.server(ThreadPoolExecutor(4))
    servicer = health.HealthServicer()
    servicer.set("readiness", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    embedding_pb2_grpc.add_EmbeddingServicer_to_server(_Engine(), server)  # type: ignore[no-untyped-call]
    told.send(server.add_insecure_port("127.0.0.1:0"))
    server.start()
    server.wait_for_termination()


def _gateway() -> dict[str, Any]:
    texts = list(islice(of_length(minilm(), 16), 160))
    began = time.monotonic()
    with trellis(1, "float32") as server:
        start_s = time.monotonic() - began
        cpu = {}
        for size in (1, 16):
            bodies = [server.body(texts[first : first + size]).encode() for first in range(0, 160, size)]
            caller = Caller(server, bodies)
            caller.turn(30)
            cpu[size] = caller.turn(300 if size == 1 else 60).cpu_us["gateway"]
    return {"gateway_cpu_us": cpu, "start_s": start_s}


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key:,}: {each:,.0f}" for key, each in value.items())
    return f"{value:,.0f}"


if __name__ == "__main__":
    main()
