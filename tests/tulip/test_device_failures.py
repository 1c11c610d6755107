"""What callers and probes see when a device of CUDA fails: errors are put into a GPU that is not there."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
import torch
from graphkit.fake_cuda import FakeCuda, FakeGraphDevice
from grpc_health.v1 import health_pb2, health_pb2_grpc
from transformers import BertConfig, BertModel
from trellis_wire.v1 import embedding_pb2 as pb
from tulip_rose.rose import engine as engine_module
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import GRAPHS_ON_CPU, EngineOptions, GraphOptions

DEADLINE_S = 30.0
GRAPHS = GraphOptions(multiple=16, slots=(2, 8, 16), most_tokens=128, most=4)
CONFIG = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 128,
}
STICKY = torch.AcceleratorError("CUDA error: an illegal memory access was encountered")
Request = Callable[..., pb.EmbedRequest]


@pytest.fixture
def cuda() -> FakeCuda:
    return FakeCuda()


@pytest.fixture
def engine(cuda: FakeCuda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    torch.manual_seed(3)
    folder = tmp_path / "model"
    BertModel(BertConfig(**CONFIG)).save_pretrained(folder)
    monkeypatch.setattr(engine_module, "open_device", lambda *asked: FakeGraphDevice(cuda))
    return Engine.load(folder, EngineOptions(device=GRAPHS_ON_CPU, pooling="mean", graphs=GRAPHS))


def room_for(cuda: FakeCuda, rows: int) -> None:
    """Let larger steps fail for want of memory."""
    run = cuda.run

    def small(step: Any) -> Any:
        if step.args[0].inputs.token_ids.shape[0] > rows:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return run(step)

    cuda.run = small  # type: ignore[method-assign]


async def test_a_batch_without_room_is_split_until_it_has_and_callers_see_nothing_of_it(
    serving, cuda: FakeCuda, engine: Engine, request_for: Request
) -> None:
    room_for(cuda, 32)
    async with serving(engine) as served:
        response = await served.stub.Embed(request_for([[2] * 10] * 8), timeout=DEADLINE_S)
        assert len(response.rows) == 8 * 32 * 4
        # 80 tokens and then 40 were too many; 20 fit.
        assert engine.graphs.out_of_memory == 2
        assert await served.metric("trellis_engine_step_failures_total") == 0
        again = await served.stub.Embed(request_for([[2] * 10] * 8), timeout=DEADLINE_S)
        assert (again.rows, engine.graphs.out_of_memory) == (response.rows, 2)


async def test_a_text_without_room_fails_its_call_alone_and_says_so(
    serving, cuda: FakeCuda, engine: Engine, request_for: Request
) -> None:
    room_for(cuda, 32)
    async with serving(engine) as served:
        long, short = await asyncio.gather(
            *(served.stub.Embed(request_for([ids]), timeout=DEADLINE_S) for ids in ([2] * 60, [2] * 6)),
            return_exceptions=True,
        )
        assert long.code() is grpc.StatusCode.INTERNAL
        assert "has no room on the engine's device, not even alone" in long.details()
        assert len(short.rows) == 32 * 4
        assert await served.metric("trellis_engine_step_failures_total") == 1
        assert await served.metric("trellis_engine_up") == 1


@pytest.mark.parametrize("where", ["launch", "result"])
async def test_a_device_that_is_gone_fails_the_call_and_liveness_and_ends_the_process_with_the_reason(
    serving, cuda: FakeCuda, engine: Engine, request_for: Request, until, where: str
) -> None:
    async with serving(engine) as served:
        death = asyncio.create_task(served.process.until_death())
        assert len((await served.stub.Embed(request_for([[2] * 6]), timeout=DEADLINE_S)).rows) == 32 * 4
        breaking = "copy" if where == "launch" else "mark"
        asked = getattr(cuda, breaking)

        def breaks(*more: Any) -> Any:
            made = asked(*more)
            cuda.broken = STICKY
            return made

        setattr(cuda, breaking, breaks)
        with pytest.raises(grpc.aio.AioRpcError) as told:
            await served.stub.Embed(request_for([[2] * 6]), timeout=DEADLINE_S)
        assert told.value.code() is grpc.StatusCode.INTERNAL
        failure = await asyncio.wait_for(death, DEADLINE_S)
        assert "cpu failed: " in str(failure)
        assert "an illegal memory access was encountered" in str(failure)
        health = health_pb2_grpc.HealthStub(served.channel)
        alive = await health.Check(health_pb2.HealthCheckRequest(service="liveness"), timeout=DEADLINE_S)
        assert alive.status == health_pb2.HealthCheckResponse.NOT_SERVING
        assert await served.metric("trellis_engine_up") == 0
