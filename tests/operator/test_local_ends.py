"""`python -m trellis_operator local` as its processes end: by signals, or killed, or killed below it."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from localkit.asking import ask, embed, embeds, in_flight
from localkit.running import DEADLINE_S, Running, running

pytestmark = pytest.mark.processes


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_gateway_and_then_the_engine_and_leaves_nothing(
    local: Running, number: signal.Signals
) -> None:
    pids = [local.pid_of("engine-0"), local.pid_of("gateway")]
    assert all(map(is_alive, pids))
    assert local.end(number) == 0
    assert not any(map(is_alive, pids))
    assert local.match(r"\] stopped$")


def test_a_signal_that_a_parent_passes_on_once_more_still_finishes_what_was_accepted(local: Running) -> None:
    url = local.until_ready()
    texts = [f"{number} roses climb up a trellis of ivy and tulips " * 12 for number in range(60)]
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, url, texts)
        local.until(lambda: in_flight(url) == 1)
        # A signal that is still pending would take the next one with it.
        local.process.send_signal(signal.SIGTERM)
        local.until(lambda: local.match("stopping: "))
        assert local.end(signal.SIGTERM) == 0
        assert len(asked.result()) == len(texts)
    assert not local.match("stopping at once")


def test_a_killed_local_leaves_nothing(local: Running) -> None:
    pids = [local.pid_of("engine-0"), local.pid_of("gateway")]
    local.process.kill()
    local.process.wait(DEADLINE_S)
    deadline = time.monotonic() + 10
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, pids))


def test_a_dead_engine_is_started_again_and_vectors_come_back_without_help(local: Running) -> None:
    url = local.until_ready()
    before, first = embed(url, "same"), local.pid_of("engine-0")
    os.kill(first, signal.SIGKILL)
    local.until(lambda: local.pid_of("engine-0") != first)
    local.until(lambda: embeds(url))
    assert embed(url, "same") == before
    assert local.match("engine-0 was killed by signal 9")


def test_a_dead_gateway_is_started_again_on_its_port(local: Running) -> None:
    url = local.until_ready()
    os.kill(local.pid_of("gateway"), signal.SIGKILL)
    local.until(lambda: local.match("gateway was killed by signal 9"))
    local.until(lambda: embeds(url))


def test_a_signal_while_starting_stops_all(manifest: str, minilm: Path) -> None:
    with running(manifest, "--model", str(minilm)) as local:
        local.until(lambda: local.match("starting engine-0"))
        assert local.end(signal.SIGINT) == 0
        assert local.match(r"\] stopped$")
