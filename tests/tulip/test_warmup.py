"""The start of a process: what it tells of its warm-up, when it is ready, and what it does when it cannot get ready."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1 import embedding_pb2_grpc
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.graphs.state import NO_GRAPHS, GraphState
from tulip_rose.tulip.config import Address, Config
from tulip_rose.tulip.errors import ConfigError
from tulip_rose.tulip.graph_config import GraphConfig
from tulip_rose.tulip.process import Process
from tulip_rose.tulip.serve import serve

DEADLINE_S = 30.0
ANY = Address("127.0.0.1", 0)


def slow(toy: type) -> Any:
    """The toy engine with two graphs to capture, each when the test lets it; the second cannot be captured."""
    engine = toy()
    engine.graphs = GraphState(eager=1, to_warm=2)
    engine.allowed, engine.verified = threading.Semaphore(0), threading.Event()

    def prewarm() -> None:
        for done, size in enumerate(("128x8", "64x2")):
            engine.graphs = GraphState(eager=1 + done, captured=done, warmed=done, to_warm=2, warming=size)
            assert engine.allowed.acquire(timeout=DEADLINE_S)
        failures = (("64x2", "an operation that waits"),)
        crowded = (("512x8", "CUDA out of memory"),)
        engine.graphs = GraphState(
            eager=3, captured=1, capture_failed=1, warmed=1, to_warm=2, failures=failures, crowded=crowded
        )

    engine.prewarm, engine.verify = prewarm, engine.verified.set
    return engine


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(tmp_path, "toy", ANY, ANY)


@pytest.fixture
async def process(config: Config) -> AsyncIterator[Process]:
    process = Process(config)
    await process.listen()
    yield process
    await process.stop()


async def ask(process: Process) -> pb.InfoResponse:
    async with grpc.aio.insecure_channel(str(process.address)) as channel:
        stub = embedding_pb2_grpc.EmbeddingStub(channel)
        return await stub.Info(pb.InfoRequest(starting=True), timeout=DEADLINE_S)


async def test_a_warm_up_is_told_of_step_by_step_before_the_engine_is_ready(
    process: Process, toy: type, until: Callable[..., object], metric_of: Callable[..., float]
) -> None:
    told = await ask(process)
    assert (told.model_name, told.warmup.stage, told.HasField("graphs"), told.dimensions) == (
        "toy",
        "loading",
        False,
        0,
    )
    engine = slow(toy)
    warming = asyncio.create_task(asyncio.to_thread(process.warm, engine))

    async def stands(*wanted: object) -> bool:
        info = await ask(process)
        return (info.warmup.stage, info.warmup.captured, info.warmup.keys, info.warmup.key) == wanted

    await until(lambda: stands("capturing", 0, 2, "128x8"))
    engine.allowed.release()
    await until(lambda: stands("capturing", 1, 2, "64x2"))
    assert await asyncio.to_thread(metric_of, str(process.metrics_address), "trellis_engine_graph_prewarmed", {}) == 1
    assert not process._vitals.ready(0.0)
    engine.allowed.release()
    await asyncio.wait_for(warming, DEADLINE_S)
    assert engine.verified.is_set()
    await process.attach(engine)
    told = await ask(process)
    assert (told.warmup.stage, told.warmup.captured, told.dimensions) == ("done", 1, 4)
    assert [(failure.key, failure.why) for failure in told.graphs.failures] == [("64x2", "an operation that waits")]
    assert [(each.key, each.why) for each in told.graphs.crowded] == [("512x8", "CUDA out of memory")]
    assert (told.graphs.capture_failures, told.graphs.eager_steps) == (1, 3)


async def test_an_engine_without_graphs_is_warm_at_once_and_tells_of_none(process: Process, toy: type) -> None:
    engine = process.warm(toy())
    assert engine.graphs is NO_GRAPHS
    await process.attach(engine)
    told = await ask(process)
    assert (told.warmup.stage, told.warmup.keys, told.HasField("graphs")) == ("done", 0, False)
    assert told.warmup.seconds == (await ask(process)).warmup.seconds


async def test_all_families_of_graphs_are_there_at_zero_from_the_start(
    process: Process, metric_families: Callable[[str], dict[str, object]]
) -> None:
    found = await asyncio.to_thread(metric_families, str(process.metrics_address))
    names = ("captures", "capture_failures", "evictions", "replays", "eager_steps", "out_of_memory", "held")
    for name in (*names, "to_prewarm", "prewarmed"):
        assert [sample.value for sample in found[f"trellis_engine_graph_{name}"].samples] == [0], name


async def test_vectors_are_not_compared_where_the_manifest_says_so(tmp_path: Path, toy: type) -> None:
    process = Process(Config(tmp_path, "toy", ANY, ANY, graphs=GraphConfig(verify=False)))
    engine = slow(toy)
    engine.allowed.release(2)
    process.warm(engine)
    assert not engine.verified.is_set()
    await process.stop()


async def test_a_start_that_takes_too_long_ends_and_says_how_far_it_was(tmp_path: Path, toy: type) -> None:
    config = Config(tmp_path, "toy", ANY, ANY, graphs=GraphConfig(timeout_s=0.2))
    engine = slow(toy)
    told = r"--warmup-timeout-seconds: not ready after 0\.2 s \(capturing, 0 of 2 graphs captured, 128x8 under way\)"
    with pytest.raises(ConfigError, match=told):
        await serve(config, lambda _: engine, asyncio.get_running_loop().time())
    engine.allowed.release(2)
    assert await asyncio.to_thread(engine.verified.wait, DEADLINE_S)


async def test_a_graph_that_changes_vectors_ends_the_start(config: Config, toy: type) -> None:
    engine = toy()

    def verify() -> None:
        raise LoadError("graphs.verify: 64x2")

    engine.verify = verify
    with pytest.raises(LoadError, match=r"graphs\.verify: 64x2"):
        await serve(config, lambda _: engine, asyncio.get_running_loop().time())
