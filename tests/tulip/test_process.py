"""The real program with the real model, as a child process."""

import asyncio
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import grpc
import numpy as np
import pytest
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1 import embedding_pb2_grpc
from trellis_wire.v1.packing import unpack_rows

pytestmark = pytest.mark.processes

DEADLINE_S = 60.0
FREE = ("--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
Request = Callable[..., pb.EmbedRequest]

BLOCK_TORCH = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, NoTorch())
"""

DIE_WHEN_TOLD = """
import os, time
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import EngineDeadError
load = Engine.load
def load_and_break(path, options):
    engine = load(path, options)
    def step(batch):
        while not os.path.exists({flag!r}):
            time.sleep(0.01)
        raise EngineDeadError("the device is gone")
    engine.step = step
    return engine
Engine.load = load_and_break
"""

LOAD_FOR_EVER = """
import sys, time
from tulip_rose.rose.engine import Engine
def load(path, options):
    print("the load has begun", file=sys.stderr, flush=True)
    time.sleep(600)
Engine.load = load
"""


@pytest.fixture
def start(child, minilm: Path):
    def engine(*flags: str, before: str = ""):
        return child("serve", "--model", str(minilm), *FREE, *flags, before=before)

    return engine


async def embed(address: str, request: pb.EmbedRequest) -> pb.EmbedResponse:
    async with grpc.aio.insecure_channel(address) as channel:
        return await embedding_pb2_grpc.EmbeddingStub(channel).Embed(request, timeout=DEADLINE_S)


async def test_the_program_serves_unit_vectors_that_do_not_depend_on_their_neighbours(
    start, request_for: Request
) -> None:
    address = start("--name", "minilm", "--threads", "1").ready()
    texts = [[101, *range(2000, 2000 + length), 102] for length in (1, 5, 5, 40, 254)]
    together = await embed(address, request_for(texts))
    rows = unpack_rows(together.rows, len(texts), together.vector_type, together.dimensions)
    assert rows.shape == (5, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert np.array_equal(rows[1], rows[2])
    for text, row in zip(texts, rows, strict=True):
        alone = await embed(address, request_for([text]))
        assert np.allclose(np.frombuffer(alone.rows, "<f4"), row, atol=1e-5)


async def test_sigterm_under_load_answers_every_accepted_call_and_exits_0(start, request_for: Request) -> None:
    engine = start("--threads", "1")
    address = engine.ready()
    async with grpc.aio.insecure_channel(address) as channel:
        stub = embedding_pb2_grpc.EmbeddingStub(channel)
        request = request_for([[101, *range(2000, 2120), 102]] * 16)
        calls = [asyncio.ensure_future(stub.Embed(request, timeout=DEADLINE_S)) for _ in range(8)]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        engine.signal(signal.SIGTERM)
        answers = await asyncio.gather(*calls)
        assert {len(answer.rows) for answer in answers} == {16 * 384 * 4}
    assert await asyncio.to_thread(engine.end) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_engine_ends_at_once_with_0(start, number: int) -> None:
    engine = start()
    engine.ready()
    engine.signal(number)
    assert engine.end(10.0) == 0
    assert "Traceback" not in "\n".join(engine.lines)


@pytest.mark.parametrize("stage", ["loading model", "the load has begun"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_model_is_loaded_ends_with_0_at_once(start, stage: str, number: int) -> None:
    engine = start(before=LOAD_FOR_EVER)
    engine.line(stage)
    engine.signal(number)
    assert engine.end(15.0) == 0
    assert "Traceback" not in "\n".join(engine.lines)


async def test_an_engine_that_dies_answers_all_its_callers_and_ends_with_a_clear_line(
    start, tmp_path: Path, request_for: Request, metric_of, until
) -> None:
    """One call is on the device and one waits behind it: both are told."""
    flag = tmp_path / "die"
    engine = start("--max-batch-tokens", "256", before=DIE_WHEN_TOLD.format(flag=str(flag)))
    address, metrics = engine.line(r"ready on (\S+) in .* metrics on (\S+)").groups()
    calls = [asyncio.ensure_future(embed(address, request_for([[101] * 256]))) for _ in range(2)]

    async def one_waits() -> bool:
        return await asyncio.to_thread(metric_of, metrics, "trellis_engine_queued_tokens", {}) == 256

    await until(one_waits)
    flag.touch()
    for told in await asyncio.gather(*calls, return_exceptions=True):
        assert told.code() is grpc.StatusCode.INTERNAL
    assert await asyncio.to_thread(engine.end, 10.0) == 1
    assert "tulip: the engine died (the device is gone), so this process ends" in engine.lines
    assert "Traceback" not in "\n".join(engine.lines)


async def test_a_stuck_engine_still_ends_when_its_time_to_drain_is_up(
    start, tmp_path: Path, request_for: Request, metric_of, until
) -> None:
    engine = start("--drain-timeout-seconds", "0.2", before=DIE_WHEN_TOLD.format(flag=str(tmp_path / "never")))
    address, metrics = engine.line(r"ready on (\S+) in .* metrics on (\S+)").groups()
    call = asyncio.ensure_future(embed(address, request_for([[101, 102]])))

    async def under_way() -> bool:
        return await asyncio.to_thread(metric_of, metrics, "trellis_engine_in_flight_tokens", {}) == 2

    await until(under_way)
    engine.signal(signal.SIGTERM)
    with pytest.raises(grpc.aio.AioRpcError):
        await call
    assert await asyncio.to_thread(engine.end, 15.0) == 0


@pytest.mark.parametrize("flag", ["--listen", "--metrics-listen"])
def test_a_port_that_is_taken_is_one_line_and_exit_code_2(child, minilm: Path, flag: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        flags = {**dict([FREE[:2], FREE[2:]]), flag: address}
        engine = child("serve", "--model", str(minilm), *[part for pair in flags.items() for part in pair])
        assert engine.end() == 2
    assert [line.partition(" ")[2].partition(" cannot")[0] for line in engine.lines[1:]] == [f"{flag}: {address}"]


def test_a_folder_that_is_no_model_is_one_line_and_exit_code_2(child, tmp_path: Path) -> None:
    engine = child("serve", "--model", str(tmp_path), *FREE)
    assert engine.end() == 2
    assert "config.json" in engine.lines[-1]
    assert "Traceback" not in "\n".join(engine.lines)


def test_without_torch_the_line_names_the_extra_to_install(start) -> None:
    engine = start(before=BLOCK_TORCH)
    assert engine.end() == 2
    assert engine.lines[-1] == "tulip: torch is not installed: pip install 'trellis-serve[engine]'"
    assert "Traceback" not in "\n".join(engine.lines)
