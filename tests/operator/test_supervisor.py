"""The supervisor with real child processes: small programs that listen, die, refuse to die."""

import asyncio
import contextlib
import dataclasses
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
from trellis_operator.errors import ChildError, LocalError
from trellis_operator.local.backoff import Backoff
from trellis_operator.local.ports import claim, free_ports
from trellis_operator.local.programs import Program
from trellis_operator.local.supervisor import Supervisor

DEADLINE_S = 20.0

SERVER = """
import pathlib, signal, sys, time
mark = pathlib.Path(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: (log("stopped"), sys.exit(0)))
def log(word):
    with mark.with_suffix(".log").open("a") as file:
        file.write(f"{mark.name} {word}\\n")
print("serving")
mark.touch()
while True:
    time.sleep(60)
"""
STUBBORN = SERVER.replace('lambda *_: (log("stopped"), sys.exit(0))', "signal.SIG_IGN")


@contextlib.asynccontextmanager
async def supervised(*programs: Program) -> AsyncIterator[tuple[Supervisor, list[str]]]:
    lines: list[str] = []
    supervisor = Supervisor(programs, lines.append, lambda name, line: lines.append(f"{name} | {line}"))
    try:
        yield supervisor, lines
    finally:
        supervisor.kill()
        await supervisor.stop()


def program(name: str, mark: Path, script: str = SERVER, rank: int = 0, timeout_s: float = DEADLINE_S) -> Program:
    """A program that is ready when its mark exists."""

    async def probe() -> bool:
        return await asyncio.to_thread(mark.exists)

    return Program(
        name=name,
        command=["-c", script, str(mark)],
        probe=probe,
        ready_timeout_s=timeout_s,
        stop_timeout_s=1.0,
        stop_rank=rank,
    )


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not holds():  # noqa: ASYNC110  (what is waited for happens in other processes)
            await asyncio.sleep(0.02)


def process_of(lines: Sequence[str], name: str) -> int:
    ready = [line for line in lines if line.startswith(f"{name}: ready")]
    return int(ready[-1].split("(process ")[1].rstrip(")"))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


async def test_starting_waits_until_every_program_is_ready(tmp_path: Path) -> None:
    async with supervised(program("a", tmp_path / "a"), program("b", tmp_path / "b")) as (supervisor, lines):
        await supervisor.start()
        assert (tmp_path / "a").exists()
        assert (tmp_path / "b").exists()
        assert "a | serving" in lines


async def test_stopping_ends_lower_ranks_first_and_leaves_nothing(tmp_path: Path) -> None:
    engines = [program(name, tmp_path / name, rank=1) for name in ("e0", "e1")]
    gateway = program("g", tmp_path / "g", rank=0)
    async with supervised(*engines, gateway) as (supervisor, lines):
        await supervisor.start()
        pids = [process_of(lines, name) for name in ("e0", "e1", "g")]
        await supervisor.stop()
        assert not any(map(is_running, pids))
        gateway_end = (tmp_path / "g.log").stat().st_mtime_ns
        assert all(gateway_end < (tmp_path / f"{name}.log").stat().st_mtime_ns for name in ("e0", "e1"))


async def test_a_dead_program_is_started_again(tmp_path: Path) -> None:
    async with supervised(program("a", tmp_path / "a")) as (supervisor, lines):
        await supervisor.start()
        first = process_of(lines, "a")
        os.kill(first, signal.SIGKILL)
        await until(lambda: process_of(lines, "a") != first)
        assert "a was killed by signal 9: serving" in lines
        assert "starting a again in 0.5 s" in lines


async def test_a_program_that_keeps_dying_is_started_ever_more_rarely(tmp_path: Path) -> None:
    script = "import os, pathlib, sys; os.path.exists(sys.argv[1]) and sys.exit(3);" + SERVER
    async with supervised(program("a", tmp_path / "a", script)) as (supervisor, lines):
        await supervisor.start()
        os.kill(process_of(lines, "a"), signal.SIGKILL)
        await until(lambda: "starting a again in 2 s" in lines)
        said = [line for line in lines if line.startswith("starting a")]
        assert said == [f"starting a again in {delay} s" for delay in ("0.5", "1", "2")]


async def test_a_program_that_dies_at_start_ends_all_with_its_last_line(tmp_path: Path) -> None:
    dying = program("b", tmp_path / "b", "import sys; sys.exit('no such model')")
    async with supervised(program("a", tmp_path / "a"), dying) as (supervisor, _):
        with pytest.raises(ChildError, match="b ended with code 1: no such model"):
            await supervisor.start()


async def test_a_program_that_does_not_get_ready_in_time_is_killed(tmp_path: Path) -> None:
    slow = program("a", tmp_path / "a", "import time; print('loading'); time.sleep(60)", timeout_s=0.5)
    async with supervised(slow) as (supervisor, _):
        with pytest.raises(ChildError, match=r"a was killed by signal 9: not ready after 0.5 s.*loading"):
            await supervisor.start()


async def test_a_program_that_ignores_sigterm_is_killed_in_the_end(tmp_path: Path) -> None:
    async with supervised(program("a", tmp_path / "a", STUBBORN)) as (supervisor, lines):
        await supervisor.start()
        await supervisor.stop()
        assert not is_running(process_of(lines, "a"))


async def test_stopping_can_be_cut_short(tmp_path: Path) -> None:
    patient = dataclasses.replace(program("a", tmp_path / "a", STUBBORN), stop_timeout_s=600.0)
    async with supervised(patient) as (supervisor, lines):
        await supervisor.start()
        stop = asyncio.create_task(supervisor.stop())
        await asyncio.sleep(0)
        supervisor.kill()
        await asyncio.wait_for(stop, DEADLINE_S)
        assert not is_running(process_of(lines, "a"))


async def test_stopping_while_starting_leaves_nothing(tmp_path: Path) -> None:
    never = program("a", tmp_path / "a", "import time; print('up'); time.sleep(60)")
    async with supervised(never) as (supervisor, lines):
        start = asyncio.create_task(supervisor.start())
        await until(lambda: "a | up" in lines)
        await supervisor.stop()
        await asyncio.wait_for(start, DEADLINE_S)
        await asyncio.wait_for(supervisor.run(), DEADLINE_S)


async def test_a_line_without_end_does_not_stop_the_listening(tmp_path: Path) -> None:
    script = "print('x' * 300_000); print('after');" + SERVER
    async with supervised(program("a", tmp_path / "a", script)) as (supervisor, lines):
        await supervisor.start()
        await until(lambda: "a | after" in lines)


def test_programs_die_with_a_killed_parent(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(tmp_path / "child")], stdout=subprocess.PIPE, text=True
    )
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_running(child)
        parent.kill()
    deadline = time.monotonic() + DEADLINE_S
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(child)


_PARENT = f"""
import asyncio, pathlib, sys
from trellis_operator.local.child import Child
mark = pathlib.Path(sys.argv[1])
async def main():
    child = await Child.start("a", ["-c", {SERVER!r}, str(mark)], lambda *_: None)
    while not mark.exists():
        await asyncio.sleep(0.01)
    print(child.pid, flush=True)
    await child.wait()
asyncio.run(main())
"""


def test_the_back_off_doubles_up_to_half_a_minute_and_forgets_after_a_good_minute() -> None:
    backoff, delays = Backoff(), []
    for _ in range(8):
        delays.append(backoff.delay_s)
        backoff = backoff.doubled()
    assert delays == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert backoff.after(59.0).delay_s == 30
    assert backoff.after(60.0).delay_s == 0.5


def test_a_taken_port_is_told_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LocalError, match=rf"port {port} of 127.0.0.1 is taken .* --port"):
            claim("127.0.0.1", port)


def test_free_ports_are_distinct_and_can_be_listened_on() -> None:
    ports = free_ports("127.0.0.1", 6)
    assert len(set(ports)) == 6
    assert [claim("127.0.0.1", port) for port in ports] == ports
