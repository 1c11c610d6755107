"""A toy engine at ROSE's border, Tulip in this process around it, and the real program as a child."""

import asyncio
import contextlib
import queue
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1 import embedding_pb2_grpc
from trellis_wire.v1.packing import pack_ids
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.card import ModelCard
from tulip_rose.rose.graphs.state import NO_GRAPHS
from tulip_rose.rose.lazy import LazyTensor, Part
from tulip_rose.rose.plan.memory import UNPLANNED
from tulip_rose.tulip.config import Address, Config
from tulip_rose.tulip.process import Process

DEADLINE_S = 30.0
CARD = ModelCard("ToyModel", "float32", "cpu", "none", 4, (2,), 256, 1000, "mean", True, "digest-1")
NAN_ID = 999
"""The toy gives no finite row for a text that begins with this id."""


class ToyEngine:
    """Gives each span the row (first id, last id, tokens, 1). Its device can be held, and can fail."""

    def __init__(self, card: ModelCard = CARD) -> None:
        self.card = card
        self.memory = UNPLANNED
        self.graphs = NO_GRAPHS
        self.free = threading.Event()
        self.free.set()
        self.held = threading.Event()
        """Set once somebody waits for a step while the device is not free."""
        self.tokens = 0
        self.batches: list[int] = []
        self.failures: list[Exception] = []
        """Raised by the next steps, one each."""
        self.step_s = 0.0
        """What a step takes."""

    def step(self, batch: Batch) -> LazyTensor:
        if self.failures:
            raise self.failures.pop(0)
        self.batches.append(batch.tokens)
        self.tokens += self.batches[-1]
        rows = np.asarray([self._row(batch, *bounds) for bounds in batch.parts[0].bounds.tolist()], dtype=np.float32)
        return LazyTensor(ToyStep(self, Part(rows, np.isfinite(rows).all(axis=1))), batch.places)

    def prewarm(self) -> None:
        pass

    def verify(self) -> None:
        pass

    def close(self) -> None:
        pass

    def _row(self, batch: Batch, begin: int, end: int) -> list[float]:
        first, last = batch.token_ids[begin], batch.token_ids[end - 1]
        row = [first, last, end - begin, 1.0, *[0.0] * (self.card.dimensions - 4)]
        return [np.nan] * self.card.dimensions if first == NAN_ID else row


@dataclass
class ToyStep:
    engine: ToyEngine
    part: Part
    came: float = 0.0

    def reached(self) -> bool:
        return self.engine.free.is_set()

    def wait(self, timeout_s: float | None) -> tuple[Part, ...]:
        time.sleep(self.engine.step_s)
        if not self.engine.free.is_set():
            self.engine.held.set()
        assert self.engine.free.wait(DEADLINE_S), "the test never freed the device"
        self.came = time.monotonic()
        return (self.part,)


@dataclass
class Served:
    """Tulip in this process, and a channel to it."""

    process: Process
    engine: ToyEngine
    channel: grpc.aio.Channel
    stub: embedding_pb2_grpc.EmbeddingStub = field(init=False)

    def __post_init__(self) -> None:
        self.stub = embedding_pb2_grpc.EmbeddingStub(self.channel)

    async def metric(self, name: str, **labels: str) -> float:
        return await asyncio.to_thread(read_metric, str(self.process.metrics_address), name, labels)

    async def hold(self) -> "asyncio.Task[pb.EmbedResponse]":
        """Keep the device busy with one call of one token until `engine.free` is set again."""
        self.engine.free.clear()
        self.engine.held.clear()
        call = asyncio.ensure_future(self.stub.Embed(request_of([[7]]), timeout=DEADLINE_S))
        assert await asyncio.to_thread(self.engine.held.wait, DEADLINE_S)
        return call


def read_metric(address: str, name: str, labels: dict[str, str]) -> float:
    for family in families(address).values():
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    raise AssertionError(f"no sample {name} {labels}")


def families(address: str) -> dict[str, object]:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def request_of(ids: list[list[int]], **more: object) -> pb.EmbedRequest:
    token_ids, lengths = pack_ids(ids)
    return pb.EmbedRequest(token_ids=token_ids, lengths=lengths, **{"vector_type": pb.VECTOR_TYPE_FLOAT32, **more})


async def until_true(what: Callable[[], object], deadline_s: float = DEADLINE_S) -> None:
    end = time.monotonic() + deadline_s
    while True:
        found = what()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return
        assert time.monotonic() < end, "did not come true in time"
        await asyncio.sleep(0.01)


@pytest.fixture
def toy() -> type[ToyEngine]:
    return ToyEngine


@pytest.fixture
def request_for() -> Callable[..., pb.EmbedRequest]:
    return request_of


@pytest.fixture
def until() -> Callable[..., object]:
    return until_true


@pytest.fixture
def metric_of() -> Callable[[str, str, dict[str, str]], float]:
    return read_metric


@pytest.fixture
def metric_families() -> Callable[[str], dict[str, object]]:
    return families


@pytest.fixture
def serving(tmp_path: Path) -> Callable[..., contextlib.AbstractAsyncContextManager[Served]]:
    """Serve an engine in this process, with `tmp_path` as its model's folder; flags are fields of `Config`."""

    @contextlib.asynccontextmanager
    async def serve(engine: object = None, warm: bool = False, **fields: object) -> AsyncIterator[Served]:
        config = Config(tmp_path, "toy", Address("127.0.0.1", 0), Address("127.0.0.1", 0), **fields)
        engine = engine or ToyEngine()
        process = Process(config)
        await process.listen()
        await process.attach(process.warm(engine) if warm else engine)
        sizes = [("grpc.max_send_message_length", 1 << 27), ("grpc.max_receive_message_length", 1 << 27)]
        watching = asyncio.create_task(process.until_death())
        try:
            async with grpc.aio.insecure_channel(str(process.address), options=sizes) as channel:
                yield Served(process, engine, channel)
        finally:
            watching.cancel()
            getattr(engine, "free", threading.Event()).set()
            await process.stop()

    return serve


class Child:
    """The program as a process of its own."""

    def __init__(self, command: list[str]) -> None:
        self.lines: list[str] = []
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self._arrived: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def line(self, pattern: str, deadline_s: float = 60.0) -> re.Match[str]:
        """The next line of stderr that has the pattern."""
        end = time.monotonic() + deadline_s
        while (text := self._next(end, pattern)) is not None:
            if found := re.search(pattern, text):
                return found
        raise AssertionError(f"it ended without a line like {pattern!r}: {self.lines}")

    def _next(self, end: float, pattern: str) -> str | None:
        try:
            return self._arrived.get(timeout=max(0.01, end - time.monotonic()))
        except queue.Empty:
            raise AssertionError(
                f"no line like {pattern!r} came in time, not within the deadline: {self.lines}"
            ) from None

    def ready(self) -> str:
        """Its address, once it is ready."""
        return self.line(r"ready on (\S+) in")[1]

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self, deadline_s: float = 60.0) -> int:
        """The exit code, once it has ended."""
        code = self._process.wait(deadline_s)
        self._reader.join(deadline_s)
        return code

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stderr.close()

    def _read(self) -> None:
        for line in self._process.stderr:
            self.lines.append(line.rstrip("\n"))
            self._arrived.put(self.lines[-1])
        self._arrived.put(None)


@pytest.fixture
def child() -> Iterator[Callable[..., Child]]:
    """Start `python -m tulip_rose` with flags; `before` is a program that runs first, in the same process."""
    children: list[Child] = []

    def start(*flags: str, before: str = "") -> Child:
        run = "import runpy; runpy.run_module('tulip_rose', run_name='__main__', alter_sys=True)"
        children.append(Child([sys.executable, "-c", f"{before}\n{run}", *flags]))
        return children[-1]

    yield start
    for each in children:
        each.kill()
