"""Engines that are killed, raise or hang, under load: what callers see, and that it comes right without help."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from roadkit.faults import Faults
from roadkit.http import embed
from roadkit.load import Tally, keep_busy
from roadkit.local import Local, start_local
from roadkit.program import Programs
from roadkit.stack import Stack, Starter
from roadkit.waiting import until, until_async

pytestmark = pytest.mark.processes

_INPUTS = [[[101, *range(1000 + row, 1100 + row), 102]] * 4 for row in range(20)]
_STUCK_AFTER_S = 2
_REQUESTS = 40


@pytest.fixture(scope="module")
def local(programs: Programs, minilm: Path) -> Iterator[Local]:
    """The manifest of the example with two engines, run by `local`."""
    local = start_local(programs, minilm, engines=2)
    yield local
    programs.stop(local.program)


@pytest.fixture
def faults(tmp_path: Path) -> Faults:
    return Faults(tmp_path)


@pytest.fixture
def faulty(starter: Starter, faults: Faults) -> Iterator[Stack]:
    """A stack whose engine fails on command, and whose liveness fails after 2 s in one step."""
    engine = starter.engine("--stuck-after-seconds", str(_STUCK_AFTER_S), code=faults.code, name="engine-faulty")
    stack = starter.stack(engine)
    yield stack
    faults.release()
    starter.stop(*stack.programs)


async def test_an_engine_killed_under_load_is_not_noticed_while_another_serves(local: Local) -> None:
    victim = local.engine_pid(0)

    async def kill_one(tally: Tally) -> None:
        await until_async(lambda: len(tally.outcomes) > _REQUESTS, "the load runs")
        psutil.Process(victim).kill()
        seen = len(tally.outcomes)
        await until_async(lambda: len(tally.outcomes) > seen + _REQUESTS, "the load goes on")
        await until_async(lambda: local.engine_pid(0) != victim, "the engine is started again", timeout_s=60)
        seen = len(tally.outcomes)
        await until_async(lambda: len(tally.outcomes) > seen + _REQUESTS, "the load goes on after that")

    tally = await keep_busy(local.url, _INPUTS, 8, kill_one)
    assert set(tally.statuses) <= {200, 429}
    assert tally.statuses[200] > 3 * _REQUESTS


def test_with_every_engine_killed_callers_are_told_to_come_back_and_then_served(local: Local) -> None:
    until(lambda: local.ready_engines() == 2, "both engines are ready", timeout_s=60)
    for index in (0, 1):
        psutil.Process(local.engine_pid(index)).kill()
    answer = embed(local.url, "a")
    assert answer.status == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.error["code"] == "no_engine_ready"
    statuses = {answer.status}

    def served() -> bool:
        statuses.add(embed(local.url, "a").status)
        return 200 in statuses

    until(served, "it serves again", timeout_s=60)
    assert statuses == {503, 200}


def test_an_exception_in_the_engine_thread_fails_its_batch_and_no_other(faulty: Stack, faults: Faults) -> None:
    assert embed(faulty.url, "a").status == 200
    faults.fail_next()
    assert embed(faulty.url, ["a", "b"]).status == 500
    assert embed(faulty.url, ["a", "b"]).status == 200
    assert faulty.engine.metric("step_failures_total") == 1
    assert faulty.engine.health("liveness") == "SERVING"


async def test_a_stuck_engine_fails_liveness_and_a_busy_one_does_not(faulty: Stack, faults: Faults) -> None:
    async def busy_for_longer_than_a_stuck_step(tally: Tally) -> None:
        for _ in range(2 * _STUCK_AFTER_S):
            await asyncio.sleep(1)
            assert await asyncio.to_thread(faulty.engine.health, "liveness") == "SERVING"

    tally = await keep_busy(faulty.url, _INPUTS, 6, busy_for_longer_than_a_stuck_step)
    assert set(tally.statuses) == {200}

    faults.hold()
    waiting = asyncio.create_task(asyncio.to_thread(embed, faulty.url, "a"))
    await until_async(lambda: faulty.engine.health("liveness") == "NOT_SERVING", "liveness fails", timeout_s=10)
    faults.release()
    assert (await waiting).status == 200
    await until_async(lambda: faulty.engine.health("liveness") == "SERVING", "liveness is back", timeout_s=10)


def test_an_engine_that_lost_its_device_ends_with_a_clear_line(starter: Starter, tmp_path: Path) -> None:
    flag = tmp_path / "die"
    code = _DYING.format(flag=str(flag))
    stack = starter.stack(starter.engine(code=code, name="engine-dying"))
    flag.touch()
    answer = embed(stack.url, "a")
    exit_code = stack.engine.program.wait(15)
    last = stack.engine.program.tail()
    starter.stop(*stack.programs)
    assert answer.status in (500, 503)
    assert exit_code not in (0, 2)
    assert re.search("cannot go on: .*the device is gone", last)


_DYING = """
import os
from tulip_rose.rose import engine
from tulip_rose.rose.errors import EngineDeadError
step = engine.Engine.step

def dying_step(self, batch):
    if os.path.exists({flag!r}):
        raise EngineDeadError("the device is gone")
    return step(self, batch)

engine.Engine.step = dying_step
"""
