"""A gateway over real TCP, and at the outermost wire engines that are small gRPC servers with vectors made from ids."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import grpc
import numpy as np
import pytest
from aiohttp import web
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from ivy.config import Address, Config
from ivy.gateway import Gateway, build
from ivy.tokenize.native.choice import Choice, choose
from tokenizers import Tokenizer
from trellis_wire.contents import full_digest
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1 import embedding_pb2_grpc
from trellis_wire.v1.packing import unpack_ids, unpack_spans

DIMENSIONS = 8
MAX_INPUT_TOKENS = 256
VOCABULARY = 30522


def vector_of(ids, dimensions: int = DIMENSIONS) -> np.ndarray:
    """The vector that every fake engine gives for these ids."""
    seed = hashlib.sha256(np.asarray(ids, dtype="<i4").tobytes()).digest()[:8]
    vector = np.random.default_rng(int.from_bytes(seed, "little")).standard_normal(DIMENSIONS).astype(np.float32)
    return vector[:dimensions] / np.linalg.norm(vector[:dimensions])


def encode(vectors: np.ndarray, kind: int) -> bytes:
    if kind == pb.VECTOR_TYPE_INT8:
        return np.clip(np.round(127 * np.tanh(vectors)), -128, 127).astype(np.int8).tobytes()
    if kind == pb.VECTOR_TYPE_BINARY:
        return np.packbits(vectors >= 0, axis=1, bitorder="little").tobytes()
    return vectors.astype("<f4").tobytes()


@dataclass
class FakeEngine(embedding_pb2_grpc.EmbeddingServicer):
    """Embeds at once, unless a test closes its gate or gives it an error to answer with."""

    digest: str = "sha256:one"
    contents: str = ""
    texts: str = ""
    max_batch_tokens: int = 4096
    max_queued_tokens: int = 65536
    port: int = 0
    error: grpc.StatusCode | None = None
    failed_rows: tuple[int, ...] = ()
    said_dimensions: int | None = None
    pooling: str = "mean"
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0
    calls: list[pb.EmbedRequest] = field(default_factory=list)
    cancelled: int = 0
    looks: int = 0
    server: grpc.aio.Server | None = None
    states: health.aio.HealthServicer | None = None

    async def start(self) -> "FakeEngine":
        self.gate.set()
        self.server = grpc.aio.server(options=[("grpc.max_receive_message_length", 64 * 1024 * 1024)])
        embedding_pb2_grpc.add_EmbeddingServicer_to_server(self, self.server)
        self.states = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self.states, self.server)
        await self.states.set("readiness", health_pb2.HealthCheckResponse.SERVING)
        self.port = self.server.add_insecure_port(f"127.0.0.1:{self.port}")
        await self.server.start()
        return self

    async def stop(self) -> None:
        await self.server.stop(None)

    async def serving(self, is_serving: bool) -> None:
        states = health_pb2.HealthCheckResponse
        await self.states.set("readiness", states.SERVING if is_serving else states.NOT_SERVING)

    async def Embed(self, request, context):
        self.calls.append(request)
        self.waiting += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.waiting -= 1
        if self.error is not None:
            await context.abort(self.error, "a secret of the engine")
        first, *also = [self.rows(request, output) for output in (request, *request.also)]
        return pb.EmbedResponse(
            rows=first.rows,
            dimensions=first.dimensions,
            vector_type=first.vector_type,
            failed_rows=first.failed_rows,
            queue_ms=0.25,
            launch_ms=0.125,
            forward_ms=1.5,
            settle_ms=0.5,
            model_digest=full_digest(self.digest, self.contents),
            also=also,
        )

    def rows(self, request, output) -> pb.OutputRows:
        """A row for each span, made from the ids in it alone."""
        dimensions = output.dimensions or DIMENSIONS
        sequences = unpack_ids(request.token_ids, request.lengths)
        spans = unpack_spans(output.spans, [len(ids) for ids in sequences])
        parts = [ids[begin:end] for ids, own in zip(sequences, spans, strict=True) for begin, end in own]
        return pb.OutputRows(
            rows=encode(np.stack([vector_of(ids, dimensions) for ids in parts]), output.vector_type),
            dimensions=self.said_dimensions or dimensions,
            vector_type=output.vector_type,
            failed_rows=self.failed_rows,
        )

    async def Info(self, request, context):
        self.looks += 1
        return pb.InfoResponse(
            model_name="fake",
            model_digest=self.digest,
            contents=self.contents,
            texts=self.texts,
            dimensions=DIMENSIONS,
            allowed_dimensions=[4],
            max_input_tokens=MAX_INPUT_TOKENS,
            vocabulary_size=VOCABULARY,
            max_batch_tokens=self.max_batch_tokens,
            max_queued_tokens=self.max_queued_tokens,
            pooling=self.pooling,
            normalize=True,
            dtype="float32",
        )


@dataclass
class Served:
    """A gateway that listens, and a client that talks to it."""

    url: str
    gateway: Gateway
    client: aiohttp.ClientSession

    async def embed(self, **fields):
        """POST to the embeddings route; the status, the body and the headers."""
        body = {"model": "minilm", **fields}
        async with self.client.post(f"{self.url}/v1/embeddings", json=body) as response:
            return SimpleNamespace(status=response.status, body=await response.json(), headers=response.headers)

    async def post(self, path, **body):
        """POST JSON to any route; the status, the body and the headers."""
        async with self.client.post(self.url + path, json=body) as response:
            return SimpleNamespace(status=response.status, body=await response.json(), headers=response.headers)

    async def raw(self, data, method: str = "POST", path: str = "/v1/embeddings", **more):
        async with self.client.request(method, self.url + path, data=data, **more) as response:
            return SimpleNamespace(status=response.status, body=await response.json(), headers=response.headers)

    async def metric(self, line: str) -> float:
        """The value of one line of `/metrics`."""
        async with self.client.get(f"{self.url}/metrics") as response:
            text = await response.text()
        return next(float(each.rpartition(" ")[2]) for each in text.splitlines() if each.startswith(line))


async def until(holds: Callable[[], bool | Awaitable[bool]], timeout_s: float = 20.0) -> None:
    """Wait until something holds; fail when it never does."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = holds()
        if found if isinstance(found, bool) else await found:
            return
        assert time.monotonic() < deadline, "it did not come to hold in time"
        await asyncio.sleep(0.01)


_choices: dict[str, Choice] = {}


def chosen_once(inner: Tokenizer) -> Choice:
    """The compiled tokenizer of a model, made and checked once for all gateways: that takes longer than most tests."""
    told = inner.to_str()
    if told not in _choices:
        _choices[told] = choose(inner)
    return _choices[told]


@asynccontextmanager
async def running(config: Config, *, ready: bool = True) -> AsyncIterator[Served]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ivy.tokenize.tokenizer.choose", chosen_once)
        gateway = build(config)
    runner = web.AppRunner(gateway.app, handler_cancellation=True, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    following = asyncio.create_task(gateway.discovery.run())
    try:
        if ready:
            await until(lambda: len(gateway.engines.cards()) > 0)
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with aiohttp.ClientSession() as client:
            yield Served(url, gateway, client)
    finally:
        await runner.cleanup()
        following.cancel()
        await gateway.close()


@pytest.fixture
async def engine() -> AsyncIterator[FakeEngine]:
    started = await FakeEngine().start()
    yield started
    started.gate.set()
    await started.stop()


@pytest.fixture
async def engines() -> AsyncIterator[list[FakeEngine]]:
    started = [await FakeEngine().start() for _ in range(2)]
    yield started
    for each in started:
        each.gate.set()
        await each.stop()


@pytest.fixture
def config(minilm: Path) -> Config:
    """A gateway of MiniLM, whose engines a test puts in."""
    return Config(
        model=minilm, served_names=("minilm", "all-minilm-l6-v2"), engines=(Address("127.0.0.1", 1),), log_level="error"
    )


@pytest.fixture
async def serve(config: Config) -> AsyncIterator[Callable[..., Awaitable[Served]]]:
    """Start a gateway in front of engines, with any field of its configuration changed."""
    async with AsyncExitStack() as stack:

        async def start(*engines: FakeEngine, ready: bool = True, **changed) -> Served:
            addresses = tuple(Address("127.0.0.1", each.port) for each in engines)
            own = replace(config, **{"engines": addresses or config.engines, **changed})
            return await stack.enter_async_context(running(own, ready=ready))

        yield start


@pytest.fixture
async def gateway(engine: FakeEngine, serve) -> Served:
    """A gateway in front of one engine."""
    return await serve(engine)


@pytest.fixture(name="until")
def until_fixture():
    return until


@pytest.fixture(name="vector_of")
def vector_of_fixture():
    return vector_of


@pytest.fixture(name="FakeEngine")
def fake_engine_class():
    return FakeEngine
