"""SIGTERM under load, on each program: all that was accepted is answered, then the program ends with code 0."""

import asyncio
from pathlib import Path

import aiohttp
import psutil
import pytest
from roadkit.load import BROKEN, Outcome, send, session
from roadkit.local import Local, start_local
from roadkit.program import Program, Programs
from roadkit.stack import Engine, Stack, Starter, responds
from roadkit.waiting import until_async

pytestmark = pytest.mark.processes

_REQUESTS = 12
_INPUTS = [[101, *range(2000, 2198), 102]] * 8
_TOKENS = 8 * 200


async def _stopped_under_load(
    client: aiohttp.ClientSession, url: str, engine: Engine, victim: Program
) -> tuple[list[Outcome], int]:
    """Send 12 requests, stop `victim` when the engine has them all, and give the answers and the exit code."""
    before = engine.metric("tokens_total") + engine.metric("queued_tokens")

    def accepted() -> bool:
        seen = engine.metric("tokens_total") + engine.metric("queued_tokens")
        return seen - before >= _REQUESTS * _TOKENS

    sent = [asyncio.create_task(send(client, url, _INPUTS)) for _ in range(_REQUESTS)]
    await until_async(accepted, "the engine has accepted all of them")
    victim.terminate()
    outcomes = await asyncio.gather(*sent)
    return outcomes, await asyncio.to_thread(victim.wait)


async def _late(client: aiohttp.ClientSession, url: str) -> Outcome:
    return await send(client, url, "too late")


async def test_a_gateway_answers_what_it_accepted(starter: Starter, stack: Stack) -> None:
    gateway = starter.gateway([stack.engine])
    async with session() as client:
        outcomes, code = await _stopped_under_load(client, gateway.url, stack.engine, gateway.program)
        late = await _late(client, gateway.url)
    assert [each.status for each in outcomes] == [200] * _REQUESTS
    assert late.status == BROKEN
    assert code == 0


async def test_an_engine_answers_what_it_accepted(starter: Starter) -> None:
    stack = starter.stack()
    async with session() as client:
        outcomes, code = await _stopped_under_load(client, stack.url, stack.engine, stack.engine.program)
        late = await _late(client, stack.url)
    starter.stop(stack.gateway.program)
    assert [each.status for each in outcomes] == [200] * _REQUESTS
    assert late.status == 503
    assert code == 0


async def test_a_draining_gateway_is_not_ready_and_still_answers(starter: Starter, stack: Stack) -> None:
    gateway = starter.gateway([stack.engine], "--drain-delay-seconds", "3")
    gateway.program.terminate()
    await until_async(lambda: responds(gateway.url, "/readyz", 503), "it says that it is not ready", timeout_s=2)
    async with session() as client:
        during = await _late(client, gateway.url)
    assert during.status == 200
    assert await asyncio.to_thread(gateway.program.wait, 20) == 0


async def test_an_engine_that_drains_while_another_serves_is_not_noticed(starter: Starter) -> None:
    engines = [starter.engine("--threads", "1", name=f"engine-{index}") for index in (0, 1)]
    stack = Stack(starter.gateway(engines), tuple(engines))
    async with session() as client:
        sent = [asyncio.create_task(send(client, stack.url, _INPUTS)) for _ in range(_REQUESTS)]
        await until_async(lambda: engines[0].waiting_tokens() > 0, "the first engine works")
        engines[0].program.terminate()
        sent += [asyncio.create_task(send(client, stack.url, _INPUTS)) for _ in range(_REQUESTS)]
        outcomes = await asyncio.gather(*sent)
    code = await asyncio.to_thread(engines[0].program.wait)
    starter.stop(stack.gateway.program, engines[1].program)
    assert {each.status for each in outcomes} == {200}
    assert code == 0


async def test_local_answers_what_it_accepted_and_leaves_nothing_behind(programs: Programs, minilm: Path) -> None:
    local = await asyncio.to_thread(start_local, programs, minilm, 1)
    engine, children = _engine_of(local), local.children()
    async with session() as client:
        outcomes, code = await _stopped_under_load(client, local.url, engine, local.program)
    assert [each.status for each in outcomes] == [200] * _REQUESTS
    assert code == 0
    assert not [child for child in children if child.is_running()]


def _engine_of(local: Local) -> Engine:
    """The engine that `local` runs, as its own command line tells."""
    flags = psutil.Process(local.engine_pid(0)).cmdline()
    value = {flag: flags[index + 1] for index, flag in enumerate(flags[:-1])}
    return Engine(local.program, value["--listen"], f"http://{value['--metrics-listen']}/metrics")
