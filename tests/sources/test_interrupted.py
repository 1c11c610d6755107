"""Fetches as processes: killed, stopped, two at once, and what they leave for whoever started them."""

import errno
import json
import os
import signal
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hub_fault import Fault
from hub_server import HubServer
from trellis_operator.source import HuggingFaceSource

REPO = "test/model"
Read = Callable[[Path], dict[str, bytes]]


def manifest(source: HuggingFaceSource) -> dict[str, Any]:
    return {"huggingFace": {"repo": source.repo, "revision": source.revision}}


def test_a_killed_fetch_goes_on_where_it_was_killed(
    command: Callable[..., Any],
    hub_source: HuggingFaceSource,
    hub: HubServer,
    tmp_path: Path,
    files_in: Read,
    needed: dict[str, bytes],
    until: Callable[..., Any],
    partials: Callable[..., list[Path]],
) -> None:
    released = threading.Event()
    hub.files[REPO].pop("2_Dense/model.safetensors")
    needed.pop("2_Dense/model.safetensors")
    hub.faults.append(Fault("/cdn/", after=1_234_567, then=lambda: released.wait(30)))
    first = command(manifest(hub_source), tmp_path / "m")
    until(lambda: partials(tmp_path, ".m.incoming-*/*.partial", 1_234_567))
    first.process.send_signal(signal.SIGKILL)
    first.wait()
    released.set()
    hub.asked.clear()
    second = command(manifest(hub_source), tmp_path / "m")
    assert second.wait() == 0, second.said
    assert files_in(tmp_path / "m") == needed
    assert [asked.headers["Range"] for asked in hub.requests_for("/cdn/")] == ["bytes=1234567-"]
    assert not hub.requests_for("/resolve/.*json")
    assert "1.24 MB of it are here from before" in second.said


def test_two_fetches_of_one_model_do_the_work_once(
    command: Callable[..., Any],
    hub_source: HuggingFaceSource,
    hub: HubServer,
    tmp_path: Path,
    files_in: Read,
    needed: dict[str, bytes],
    until: Callable[..., Any],
) -> None:
    released = threading.Event()
    hub.faults.append(Fault("/cdn/", after=100, then=lambda: released.wait(30)))
    first = command(manifest(hub_source), tmp_path / "m")
    until(lambda: hub.requests_for("/cdn/"))
    second = command(manifest(hub_source), tmp_path / "m")
    until(lambda: "another fetch makes" in second.said)
    released.set()
    assert (first.wait(), second.wait()) == (0, 0), second.said
    assert files_in(tmp_path / "m") == needed
    assert len(hub.requests_for("/cdn/")) == 2


def test_a_fetch_that_waits_for_another_one_gives_up_in_time_and_takes_over_from_a_killed_one(
    command: Callable[..., Any],
    hub_source: HuggingFaceSource,
    hub: HubServer,
    tmp_path: Path,
    until: Callable[..., Any],
) -> None:
    released = threading.Event()
    hub.faults.append(Fault("/cdn/", after=100, then=lambda: released.wait(30)))
    first = command(manifest(hub_source), tmp_path / "m")
    until(lambda: hub.requests_for("/cdn/"))
    hasty = command(manifest(hub_source), tmp_path / "m", "--deadline-seconds", "1")
    assert hasty.wait() == 75
    patient = command(manifest(hub_source), tmp_path / "m")
    until(lambda: "another fetch makes" in patient.said)
    first.kill()
    released.set()
    assert patient.wait() == 0, patient.said


def test_without_locks_on_the_file_system_two_fetches_still_end_well(
    fetch: Callable[..., Any],
    hub_source: HuggingFaceSource,
    hub: HubServer,
    tmp_path: Path,
    files_in: Read,
    needed: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr("fcntl.flock", no_locks)
    inner: list[Any] = []

    def other_first() -> bool:
        inner.append(fetch(hub_source, tmp_path / "m"))
        return True

    hub.faults.append(Fault("/cdn/", after=100, then=other_first))
    fetch(hub_source, tmp_path / "m")
    assert len(inner) == 1
    assert files_in(tmp_path / "m") == needed
    assert sorted(path.name for path in tmp_path.iterdir()) == [".m.lock", "m"]


def test_the_outcome_is_left_for_the_kubelet(
    command: Callable[..., Any],
    hub_source: HuggingFaceSource,
    hub: HubServer,
    tmp_path: Path,
    needed: dict[str, bytes],
) -> None:
    log = tmp_path / "termination-log"
    log.touch()
    refused = command({"huggingFace": {"repo": "a/b", "revision": "c"}}, tmp_path / "x", "--termination-log", str(log))
    assert refused.wait() == 2
    word = json.loads(log.read_text())
    assert word["reason"] == "Unauthorized"
    assert refused.said.splitlines()[-1] == f"error: {word['message']}"
    hub.faults.append(Fault("/api/", times=99, status=429, headers={"Retry-After": "3600"}))
    busy = command(manifest(hub_source), tmp_path / "m", "--termination-log", str(log), "--deadline-seconds", "60")
    assert busy.wait() == 75
    assert json.loads(log.read_text())["reason"] == "RateLimited"
    hub.faults.clear()
    done = command(manifest(hub_source), tmp_path / "m", "--termination-log", str(log))
    assert done.wait() == 0
    assert json.loads(log.read_text()) | {"message": ""} == {
        "reason": "Fetched",
        "message": "",
        "revision": hub_source.revision,
        "bytes": sum(map(len, needed.values())),
    }


def test_a_stopped_fetch_says_so_and_keeps_what_it_has(
    command: Callable[..., Any],
    hub_source: HuggingFaceSource,
    hub: HubServer,
    tmp_path: Path,
    until: Callable[..., Any],
    partials: Callable[..., list[Path]],
) -> None:
    released = threading.Event()
    hub.files[REPO].pop("2_Dense/model.safetensors")
    hub.faults.append(Fault("/cdn/", after=1000, then=lambda: released.wait(30)))
    stopped = command(manifest(hub_source), tmp_path / "m")
    until(lambda: partials(tmp_path, ".m.incoming-*/*.partial", 1000))
    stopped.process.terminate()
    assert stopped.wait() == 130
    released.set()
    assert "Traceback" not in stopped.said
    assert list(tmp_path.glob(".m.incoming-*/*.partial"))


def test_metrics_are_served_while_it_runs(
    command: Callable[..., Any],
    hub_source: HuggingFaceSource,
    hub: HubServer,
    tmp_path: Path,
    needed: dict[str, bytes],
    until: Callable[..., Any],
    partials: Callable[..., list[Path]],
    unused_tcp_port: int,
) -> None:
    released = threading.Event()
    hub.files[REPO].pop("2_Dense/model.safetensors")
    hub.faults.append(Fault("/cdn/", after=1000, then=lambda: released.wait(30)))
    running = command(manifest(hub_source), tmp_path / "m", "--metrics-listen", f"127.0.0.1:{unused_tcp_port}")
    until(lambda: partials(tmp_path, ".m.incoming-*/*.partial", 1000))
    with urllib.request.urlopen(f"http://127.0.0.1:{unused_tcp_port}/metrics", timeout=10) as answer:
        seen = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
    released.set()
    total = sum(len(body) for path, body in needed.items() if path != "2_Dense/model.safetensors")
    assert float(seen["trellis_fetch_total_bytes"]) == total
    assert float(seen["trellis_fetch_present_bytes"]) == total - 3_000_000 + 1000
    assert running.wait() == 0
