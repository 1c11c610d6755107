"""Requests that come while there is no engine: they wait, within bounds, and an autoscaler sees them."""

import asyncio
import time

import grpc
import pytest
from ivy.client.target import Standing, Target
from ivy.hold import ECHO_S, MOST_REQUESTS
from ivy.timing import Timing
from roadkit.collector import collecting


@pytest.fixture
async def alone(serve, tell):
    """A gateway that lets requests wait, and knows that there is no engine."""
    gateway = await serve(ready=False, hold_s=30.0, max_held_tokens=40)
    await tell(gateway)
    return gateway


@pytest.fixture
def tell(until):
    """Make the set of a gateway's engines what a cluster would say that it is."""

    async def tell(gateway, *engines, standing=Standing.READY) -> None:
        await until(lambda: gateway.gateway.engines.is_told)
        gateway.gateway.engines.replace(
            [Target(f"127.0.0.1:{each.port}", str(each.port), standing) for each in engines]
        )

    return tell


async def readyz(gateway) -> int:
    async with gateway.client.get(f"{gateway.url}/readyz") as response:
        return response.status


def held(gateway):
    return gateway.metric("trellis_gateway_held_tokens")


async def ended(gateway, outcome: str) -> float:
    return await gateway.metric(f'trellis_gateway_held_requests_ended_total{{outcome="{outcome}"}}')


async def waits(gateway, until, count: int = 1) -> None:
    async def seen() -> bool:
        return await gateway.metric("trellis_gateway_held_requests ") == count

    await until(seen)


async def test_a_request_waits_for_an_engine_and_is_answered_by_the_first_one(alone, tell, engine, until):
    call = asyncio.create_task(alone.embed(input="a text that waits"))
    await waits(alone, until)
    assert await held(alone) > 0
    await tell(alone, engine, standing=Standing.UNREADY)
    assert (await call).status == 200
    assert await held(alone) == 0
    assert await ended(alone, "served") == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/rerank", {"model": "minilm", "query": "a", "documents": ["b", "c"]}),
        ("/v1/contextualizedembeddings", {"model": "minilm", "input": [["a"]]}),
        ("/embed", {"inputs": "a"}),
    ],
)
async def test_every_kind_of_work_waits(alone, tell, engine, until, path, body):
    call = asyncio.create_task(alone.post(path, **body))
    await waits(alone, until)
    await tell(alone, engine)
    assert (await call).status != 503


async def test_what_needs_no_engine_does_not_wait(alone):
    assert (await alone.post("/tokenize", inputs="a")).status == 200


async def test_a_wait_ends_with_503_and_when_to_come_again(serve, tell):
    gateway = await serve(ready=False, hold_s=0.05)
    await tell(gateway)
    answer = await gateway.embed(input="a")
    assert answer.status == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert await ended(gateway, "expired") == 1


async def test_more_tokens_than_may_wait_are_refused_with_429_and_the_others_go_on_waiting(alone, tell, engine, until):
    call = asyncio.create_task(alone.embed(input="word " * 25))
    await waits(alone, until)
    answer = await alone.embed(input="word " * 25)
    assert answer.status == 429
    assert int(answer.headers["retry-after"]) >= 1
    assert await ended(alone, "refused") == 1
    await tell(alone, engine)
    assert (await call).status == 200


async def test_a_request_of_more_than_may_wait_waits_alone(alone, tell, engine, until):
    call = asyncio.create_task(alone.embed(input="word " * 200))
    await waits(alone, until)
    await tell(alone, engine)
    assert (await call).status == 200


async def test_more_requests_than_may_wait_are_refused(serve, tell, engine, until, monkeypatch):
    monkeypatch.setattr("ivy.hold.MOST_REQUESTS", 3)
    assert MOST_REQUESTS > 3
    gateway = await serve(ready=False, hold_s=30.0)
    await tell(gateway)
    calls = [asyncio.create_task(gateway.embed(input="a")) for _ in range(3)]
    await waits(gateway, until, 3)
    assert (await gateway.embed(input="a")).status == 429
    await tell(gateway, engine)
    assert {(await call).status for call in calls} == {200}


async def test_a_caller_who_hangs_up_makes_room_and_is_still_seen_for_a_while(serve, tell, until, monkeypatch):
    gateway = await serve(ready=False, hold_s=30.0, max_held_tokens=40)
    await tell(gateway)
    call = asyncio.create_task(gateway.embed(input="word " * 25))
    await waits(gateway, until)
    seen = await held(gateway)
    call.cancel()
    await waits(gateway, until, 0)
    assert await ended(gateway, "left") == 1
    assert await held(gateway) == seen
    hold = gateway.gateway.hold
    now = hold._clock()
    monkeypatch.setattr(hold, "_clock", lambda: now + ECHO_S + 1)
    assert await held(gateway) == 0


async def test_a_gateway_that_lets_requests_wait_is_ready_for_them_without_an_engine(serve, tell):
    gateway = await serve(ready=False, hold_s=30.0)
    await tell(gateway)
    assert await readyz(gateway) == 200
    assert await gateway.metric("trellis_gateway_asleep") == 1


async def test_it_is_not_ready_before_it_was_told_of_engines(serve, monkeypatch):
    monkeypatch.setattr("ivy.client.fixed_set.FixedSet.run", lambda _: asyncio.Event().wait())
    gateway = await serve(ready=False, hold_s=30.0)
    assert await readyz(gateway) == 503


async def test_it_is_not_ready_while_engines_of_another_model_serve(serve, tell, engine):
    gateway = await serve(ready=False, hold_s=30.0, model_digest="sha256:other")
    await tell(gateway, engine)
    assert await readyz(gateway) == 503
    await tell(gateway, engine, standing=Standing.UNREADY)
    assert await readyz(gateway) == 200


async def test_it_is_ready_while_the_first_engine_starts(alone, tell, engine):
    await engine.serving(False)
    await tell(alone, engine, standing=Standing.UNREADY)
    assert await readyz(alone) == 200


async def test_without_a_time_to_wait_nothing_waits_and_nothing_is_ready(serve, tell):
    gateway = await serve(ready=False)
    await tell(gateway)
    assert (await gateway.embed(input="a")).status == 503
    assert await readyz(gateway) == 503
    assert await gateway.metric("trellis_gateway_asleep") == 0
    assert await held(gateway) == 0


async def test_a_gateway_that_stops_lets_nobody_wait(alone, until):
    call = asyncio.create_task(alone.embed(input="a"))
    await waits(alone, until)
    alone.gateway.hold.close()
    assert (await call).status == 503
    assert (await alone.embed(input="a")).status == 503


async def test_a_request_whose_engine_goes_meanwhile_waits_for_the_next_one(serve, tell, engines, until):
    last, following = engines
    gateway = await serve(ready=False, hold_s=30.0)
    await tell(gateway, last)
    await until(lambda: len(gateway.gateway.engines.cards()) == 1)
    last.error = grpc.StatusCode.UNAVAILABLE
    await last.serving(False)
    call = asyncio.create_task(gateway.embed(input="a"))
    await waits(gateway, until)
    await tell(gateway, following)
    assert (await call).status == 200
    assert len(following.calls) == 1
    assert await gateway.metric('trellis_gateway_stage_seconds_sum{stage="hold"}') > 0


async def test_the_wait_is_a_stage_of_its_own_and_makes_no_answer_late(alone, tell, engine, until):
    call = asyncio.create_task(alone.embed(input="a"))
    await waits(alone, until)
    began = time.perf_counter()
    await until(lambda: time.perf_counter() - began > 0.05)
    await tell(alone, engine)
    named = dict(each.split(";dur=") for each in (await call).headers["server-timing"].split(", "))
    held_s = await alone.metric('trellis_gateway_stage_seconds_sum{stage="hold"}')
    total_s = await alone.metric('trellis_gateway_stage_seconds_sum{stage="total"}')
    assert held_s == pytest.approx(float(named["hold"]) / 1000, abs=1e-3)
    assert held_s > 0.05
    assert await alone.metric('trellis_gateway_request_seconds_sum{max_tokens="512"}') == pytest.approx(
        total_s - held_s, abs=1e-6
    )


@pytest.mark.parametrize(
    ("waits", "held_s"),
    [
        ([(1.0, 3.0), (2.0, 4.0), (7.0, 9.0)], 3.0 + 2.0),
        ([(1.0, 3.0), (5.0, 6.0), (4.0, 7.0)], 2.0 + 3.0),
        ([(2.0, 3.0), (5.0, 6.0), (1.0, 7.0)], 6.0),
        ([(1.0, 3.0), (5.0, 6.0), (2.0, 7.0), (2.0, 8.0)], 7.0),
    ],
)
def test_waits_of_calls_at_the_same_time_count_once(monkeypatch, waits, held_s):
    timing, now = Timing(began=0.0), iter([ended for _, ended in waits])
    monkeypatch.setattr("ivy.timing.time.perf_counter", lambda: next(now))
    for began, _ in waits:
        timing.held(began)
    assert timing.hold_s == held_s


async def test_a_wait_is_a_span_of_its_request(serve, tell, engine, until):
    with collecting() as collector:
        traced = {"trace_endpoint": collector.endpoint, "trace_sample_percent": 100.0}
        gateway = await serve(ready=False, hold_s=30.0, **traced)
        await tell(gateway)
        call = asyncio.create_task(gateway.embed(input="a"))
        await waits(gateway, until)
        await tell(gateway, engine)
        assert (await call).status == 200
        await until(lambda: bool(collector.spans(kind="SERVER")))
    [root], [hold] = collector.spans(kind="SERVER"), collector.spans(name="hold")
    assert (hold.trace, hold.parent) == (root.trace, root.id)
    assert root.began_ns < hold.began_ns < hold.ended_ns <= root.ended_ns
