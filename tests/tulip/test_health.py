"""What probes are told: by the pure vitals, and over gRPC."""

import asyncio
from collections.abc import Callable

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1 import embedding_pb2_grpc
from tulip_rose.rose.errors import EngineDeadError
from tulip_rose.tulip.config import Address, Config
from tulip_rose.tulip.health import Vitals
from tulip_rose.tulip.process import Process

DEADLINE_S = 30.0
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
Request = Callable[..., pb.EmbedRequest]


class Heart:
    """A pulse whose step began at `since`."""

    def __init__(self, since: float | None = None, failure: BaseException | None = None) -> None:
        self.since = since
        self.failure = failure

    def stuck_s(self, now: float) -> float:
        return 0.0 if self.since is None else now - self.since


async def check(channel: grpc.aio.Channel, service: str) -> int:
    stub = health_pb2_grpc.HealthStub(channel)
    return (await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=DEADLINE_S)).status


def test_a_model_that_loads_is_alive_and_not_ready() -> None:
    vitals = Vitals(60.0)
    assert (vitals.alive(1000.0), vitals.ready(1000.0), vitals.up(1000.0)) == (True, False, False)


@pytest.mark.parametrize(
    ("heart", "now", "well"),
    [
        (Heart(), 1000.0, True),
        (Heart(0.0), 59.9, True),
        (Heart(0.0), 60.0, False),
        (Heart(failure=OSError()), 0.0, False),
    ],
)
def test_an_engine_is_well_until_a_step_runs_too_long_or_it_dies(heart: Heart, now: float, well: bool) -> None:
    vitals = Vitals(60.0)
    vitals.loaded(heart)
    assert (vitals.alive(now), vitals.ready(now), vitals.up(now)) == (well, well, well)


def test_a_draining_process_is_alive_and_not_ready() -> None:
    vitals = Vitals(60.0)
    vitals.loaded(Heart())
    vitals.drain()
    assert (vitals.alive(0.0), vitals.ready(0.0)) == (True, False)


def test_a_process_that_drains_over_a_stuck_engine_is_not_alive() -> None:
    vitals = Vitals(60.0)
    vitals.loaded(Heart(0.0))
    vitals.drain()
    assert not vitals.alive(61.0)


async def test_a_process_whose_model_loads_answers_probes_and_refuses_calls(tmp_path, request_for: Request) -> None:
    process = Process(Config(tmp_path, "toy", Address("127.0.0.1", 0), Address("127.0.0.1", 0)))
    await process.listen()
    async with grpc.aio.insecure_channel(str(process.address)) as channel:
        assert [await check(channel, name) for name in ("liveness", "readiness", "")] == [
            SERVING,
            NOT_SERVING,
            NOT_SERVING,
        ]
        stub = embedding_pb2_grpc.EmbeddingStub(channel)
        for call in (
            stub.Embed(request_for([[1]]), timeout=DEADLINE_S),
            stub.Info(pb.InfoRequest(), timeout=DEADLINE_S),
        ):
            with pytest.raises(grpc.aio.AioRpcError, match="loading") as refusal:
                await call
            assert refusal.value.code() is grpc.StatusCode.UNAVAILABLE
    await process.stop()


async def test_a_loaded_engine_serves_under_all_three_names_and_an_unknown_one_is_not_found(serving) -> None:
    async with serving() as served:
        assert [await check(served.channel, name) for name in ("liveness", "readiness", "")] == [SERVING] * 3
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await check(served.channel, "nobody")
        assert refusal.value.code() is grpc.StatusCode.NOT_FOUND


async def test_a_stuck_step_fails_liveness_and_readiness_and_both_come_back(serving, until) -> None:
    async with serving(stuck_after_s=0.3) as served:

        async def all_are(status: int) -> bool:
            return [await check(served.channel, name) for name in ("liveness", "readiness", "")] == [status] * 3

        busy = await served.hold()
        await until(lambda: all_are(NOT_SERVING))
        assert await served.metric("trellis_engine_up") == 0
        served.engine.free.set()
        await busy
        await until(lambda: all_are(SERVING))
        assert await served.metric("trellis_engine_up") == 1


async def test_a_busy_engine_never_fails_liveness(serving, request_for: Request) -> None:
    """Steps of a tenth of the limit, back to back for several times the limit, with a queue that is never empty."""
    async with serving(stuck_after_s=0.5, max_batch_tokens=256) as served:
        served.engine.step_s = 0.05
        calls = [asyncio.ensure_future(served.stub.Embed(request_for([[1] * 256]), timeout=120)) for _ in range(40)]
        seen = set()
        while not all(call.done() for call in calls):
            seen.add(await check(served.channel, "liveness"))
            await asyncio.sleep(0.01)
        await asyncio.gather(*calls)
        assert seen == {SERVING}
        assert len(served.engine.batches) == 40


async def test_the_health_watch_tells_of_a_drain(serving) -> None:
    async with serving() as served:
        stub = health_pb2_grpc.HealthStub(served.channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest(service="readiness"), timeout=DEADLINE_S)
        assert (await watch.read()).status == SERVING
        await served.process.drain()
        assert (await watch.read()).status == NOT_SERVING
        assert await check(served.channel, "liveness") == SERVING
        assert await served.metric("trellis_engine_draining") == 1
        watch.cancel()


async def test_a_drain_answers_what_was_accepted_and_refuses_what_comes(serving, request_for: Request, until) -> None:
    async with serving() as served:
        busy = await served.hold()
        waits = asyncio.ensure_future(served.stub.Embed(request_for([[2, 3]]), timeout=DEADLINE_S))
        await until(lambda: served.process._queue.outstanding_tokens == 3)
        draining = asyncio.create_task(served.process.drain())
        await until(lambda: served.process._queue._closed)
        with pytest.raises(grpc.aio.AioRpcError, match="draining") as refusal:
            await served.stub.Embed(request_for([[1]]), timeout=DEADLINE_S)
        assert refusal.value.code() is grpc.StatusCode.UNAVAILABLE
        assert not draining.done()
        served.engine.free.set()
        await draining
        assert len((await busy).rows) == len((await waits).rows) == 16


async def test_a_drain_takes_calls_until_its_delay_is_over(serving, request_for: Request, until) -> None:
    async with serving(drain_delay_s=30.0) as served:
        draining = asyncio.create_task(served.process.drain())

        async def not_ready() -> bool:
            return await check(served.channel, "readiness") == NOT_SERVING

        await until(not_ready)
        assert len((await served.stub.Embed(request_for([[1]]), timeout=DEADLINE_S)).rows) == 16
        draining.cancel()


async def test_a_drain_gives_up_when_its_time_is_over(serving) -> None:
    async with serving(drain_timeout_s=0.1) as served:
        busy = await served.hold()
        await asyncio.wait_for(served.process.drain(), DEADLINE_S)
        assert not busy.done()
        served.engine.free.set()
        await busy


async def test_when_the_engine_dies_everyone_is_told_and_the_next_one_goes_elsewhere(
    serving, request_for: Request, until
) -> None:
    async with serving(max_batch_tokens=256) as served:
        death = asyncio.create_task(served.process.until_death())
        busy = await served.hold()
        launched, waits = (
            asyncio.ensure_future(served.stub.Embed(request_for([[2] * 256]), timeout=DEADLINE_S)) for _ in range(2)
        )
        await until(lambda: served.process._queue.outstanding_tokens == 513)
        served.engine.failures.append(EngineDeadError("the device is gone"))
        served.engine.free.set()
        failure = await asyncio.wait_for(death, DEADLINE_S)
        assert "the device is gone" in str(failure)
        served.process.bury(failure)
        assert len((await busy).rows) == 16
        for told in await asyncio.gather(launched, waits, return_exceptions=True):
            assert told.code() is grpc.StatusCode.INTERNAL
        assert await check(served.channel, "liveness") == NOT_SERVING
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await served.stub.Embed(request_for([[1]]), timeout=DEADLINE_S)
        assert refusal.value.code() is grpc.StatusCode.UNAVAILABLE
