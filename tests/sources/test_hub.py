"""huggingFace sources against a real HTTP server that speaks the hub's API, and misbehaves."""

import errno
import json
import os
import signal
import threading
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from hub_server import Fault, HubServer
from trellis_operator.source import HuggingFaceSource
from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.fetch import Surroundings
from trellis_operator.sources.patience import Patience
from trellis_operator.sources.select import Part

REPO = "test/model"
Read = Callable[[Path], dict[str, bytes]]


def manifest(source: HuggingFaceSource) -> dict[str, Any]:
    return {"huggingFace": {"repo": source.repo, "revision": source.revision}}


def failure(fetch: Callable[..., Any], *arguments: Any, **more: Any) -> FetchError:
    with pytest.raises(FetchError) as caught:
        fetch(*arguments, **more)
    return caught.value


def test_what_a_model_needs_arrives_and_nothing_else(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, tmp_path: Path, files_in: Read, needed: dict[str, bytes]
) -> None:
    run = fetch(hub_source, tmp_path / "m")
    assert files_in(tmp_path / "m") == needed
    assert run.fetched.revision == hub_source.revision
    assert run.fetched.total_bytes == sum(map(len, needed.values())) == run.progress.received_bytes


def test_nothing_is_left_beside_the_model(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, tmp_path: Path
) -> None:
    fetch(hub_source, tmp_path / "cache" / "m")
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [".m.lock", "m"]


def test_the_tokenizer_part_leaves_weights_out(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path, files_in: Read
) -> None:
    fetch(hub_source, tmp_path / "m", part=Part.TOKENIZER)
    assert not [path for path in files_in(tmp_path / "m") if path.endswith(".safetensors")]
    assert not hub.requests_for("safetensors|/cdn/")


def test_a_model_that_is_there_is_not_asked_for_again(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    fetch(hub_source, tmp_path / "m")
    hub.asked.clear()
    assert fetch(hub_source, tmp_path / "m").fetched.revision == hub_source.revision
    assert fetch(hub_source, tmp_path / "m", part=Part.TOKENIZER).progress.received_bytes == 0
    assert not hub.asked


def test_a_folder_that_holds_another_model_or_less_of_it_is_not_touched(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, tmp_path: Path, files_in: Read
) -> None:
    fetch(hub_source, tmp_path / "m", part=Part.TOKENIZER)
    before = files_in(tmp_path / "m")
    assert failure(fetch, hub_source, tmp_path / "m").reason is Reason.OCCUPIED
    assert failure(fetch, replace(hub_source, revision="main"), tmp_path / "m").reason is Reason.OCCUPIED
    assert files_in(tmp_path / "m") == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    assert failure(fetch, hub_source, tmp_path / "mine").reason is Reason.OCCUPIED


def test_a_floating_revision_is_resolved_to_a_commit_once(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path, files_in: Read
) -> None:
    floating = replace(hub_source, revision=None)
    assert fetch(floating, tmp_path / "m").fetched.revision == hub_source.revision
    assert all(hub_source.revision in asked.path for asked in hub.requests_for("/resolve/"))
    hub.add(REPO, {"config.json": b"{}", "model.safetensors": b"newer"})
    assert fetch(floating, tmp_path / "m").fetched.revision == hub_source.revision


def test_the_token_opens_a_gated_repository_and_is_shown_to_the_hub_alone(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path, needed: dict[str, bytes]
) -> None:
    hub.gated.add(REPO)
    around = Surroundings(hub_endpoint=hub.url, hub_token=hub.token)
    run = fetch(hub_source, tmp_path / "m", surroundings=around)
    assert run.fetched.total_bytes == sum(map(len, needed.values()))
    for asked in hub.asked:
        assert ("Authorization" in asked.headers) == (asked.host == "127.0.0.1")
    assert hub.token not in run.said + repr(around)


@pytest.mark.parametrize(
    ("token", "repo", "revision", "reason", "words"),
    [
        (None, REPO, None, Reason.UNAUTHORIZED, "give a token with tokenSecretRef"),
        ("hf_wrong", REPO, None, Reason.UNAUTHORIZED, "the token is wrong"),
        (None, "test/none", None, Reason.UNAUTHORIZED, "there is none of that name"),
        ("hf_sesame", "test/none", None, Reason.NOT_FOUND, "no such repository"),
        ("hf_sesame", REPO, "0" * 40, Reason.NOT_FOUND, "no revision 0000"),
    ],
)
def test_what_a_hub_refuses_is_told_apart(
    fetch: Callable[..., Any],
    hub: HubServer,
    tmp_path: Path,
    token: str | None,
    repo: str,
    revision: str | None,
    reason: Reason,
    words: str,
) -> None:
    hub.gated.add(REPO)
    around = Surroundings(hub_endpoint=hub.url, hub_token=token)
    error = failure(fetch, HuggingFaceSource(repo, revision, None), tmp_path / "m", surroundings=around)
    assert (error.reason, error.reason.temporary) == (reason, False)
    assert words in str(error)
    assert len(str(error).splitlines()) == 1
    assert len(hub.asked) == 1
    assert not (tmp_path / "m").exists()


def test_forbidden_names_the_page_to_ask_on(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    hub.faults.append(Fault("/api/", status=403))
    error = failure(fetch, hub_source, tmp_path / "m")
    assert error.reason is Reason.FORBIDDEN
    assert "ask for access" in str(error)


@pytest.mark.parametrize("path", ["/api/", "/resolve/.*/vocab", "/cdn/"])
def test_a_busy_hub_is_asked_again_when_it_said(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path, path: str
) -> None:
    hub.faults.append(Fault(path, status=429, headers={"Retry-After": "1"}))
    run = fetch(hub_source, tmp_path / "m")
    assert "429 Too Many Requests; trying again in 1.0 s" in run.said
    sample = run.metrics.registry.get_sample_value("trellis_fetch_failed_attempts_total", {"reason": "RateLimited"})
    assert sample == 1


def test_a_wait_that_the_deadline_does_not_allow_is_not_begun(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    hub.faults.append(Fault("/api/", status=429, headers={"Retry-After": formatdate(2_000_000_000 * 2, usegmt=True)}))
    error = failure(fetch, hub_source, tmp_path / "m")
    assert (error.reason, error.reason.temporary) == (Reason.RATE_LIMITED, True)
    assert len(hub.asked) == 1


def test_a_broken_hub_is_asked_a_few_times(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    hub.faults.append(Fault("/api/", times=99, status=502))
    error = failure(fetch, hub_source, tmp_path / "m")
    assert (error.reason, error.reason.temporary) == (Reason.SERVER_ERROR, True)
    assert len(hub.asked) == 3


def test_a_cut_download_goes_on_where_it_was_cut(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path, needed: dict[str, bytes]
) -> None:
    hub.faults.append(Fault("/cdn/", times=5, after=500_000))
    hub.files[REPO].pop("2_Dense/model.safetensors")
    run = fetch(hub_source, tmp_path / "m")
    ranges = [asked.headers.get("Range") for asked in hub.requests_for("/cdn/")]
    assert ranges == [None, *(f"bytes={n * 500_000}-" for n in range(1, 6))]
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == needed["model.safetensors"]
    assert run.progress.received_bytes == run.fetched.total_bytes


def test_a_server_that_ignores_ranges_costs_time_and_no_byte_is_wrong(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path, needed: dict[str, bytes]
) -> None:
    hub.files[REPO].pop("2_Dense/model.safetensors")
    hub.faults += [Fault("/cdn/", after=500_000), Fault("/cdn/", times=9, ignore_range=True)]
    run = fetch(hub_source, tmp_path / "m")
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == needed["model.safetensors"]
    assert run.progress.present_bytes == run.progress.total_bytes


def test_a_stalled_download_is_begun_again_and_given_up_in_time(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    released = threading.Event()
    hub.faults.append(Fault("/cdn/", times=9, after=0, then=lambda: released.wait(20)))
    patience = Patience(deadline_s=20, stall_s=0.3, attempts=3, first_pause_s=0.01)
    error = failure(fetch, hub_source, tmp_path / "m", patience=patience)
    released.set()
    assert (error.reason, error.reason.temporary) == (Reason.STALLED, True)
    assert "not a byte for 0.3 s" in str(error)
    assert len(hub.requests_for("/cdn/")) == 3


def test_a_trickle_ends_at_the_deadline(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    hub.faults.append(Fault("/cdn/", times=999, after=1))
    patience = Patience(deadline_s=1.5, stall_s=1, attempts=3, first_pause_s=0.01)
    error = failure(fetch, hub_source, tmp_path / "m", patience=patience)
    assert error.reason in (Reason.DEADLINE_EXCEEDED, Reason.UNREACHABLE)
    assert error.reason.temporary


def test_a_hub_that_answers_no_more_after_the_deadline_is_told_as_the_deadline(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    released = threading.Event()
    hub.faults.append(Fault("/cdn/", times=9, after=10, then=lambda: released.wait(20)))
    patience = Patience(deadline_s=0.5, stall_s=10, attempts=3, first_pause_s=0.01)
    error = failure(fetch, hub_source, tmp_path / "m", patience=patience)
    released.set()
    assert (error.reason, error.reason.temporary) == (Reason.DEADLINE_EXCEEDED, True)


@pytest.mark.parametrize("path", ["/cdn/", "/resolve/.*/vocab.txt"])
def test_wrong_bytes_are_read_once_more_and_then_refused(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path, path: str
) -> None:
    hub.faults.append(Fault(path, times=99, damage=lambda body: body[:-1] + bytes([body[-1] ^ 1])))
    error = failure(fetch, hub_source, tmp_path / "m")
    assert (error.reason, error.reason.temporary) == (Reason.CHECKSUM_MISMATCH, False)
    assert len(hub.requests_for(path)) == 2
    assert not (tmp_path / "m").exists()
    hub.faults.clear()
    fetch(hub_source, tmp_path / "m")


def test_bytes_that_were_wrong_once_are_replaced(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path, needed: dict[str, bytes]
) -> None:
    hub.faults.append(Fault("/cdn/", damage=lambda body: b"\0" + body[1:]))
    run = fetch(hub_source, tmp_path / "m")
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == needed["model.safetensors"]
    assert "wrong checksum; reading it once more" in run.said


def test_more_bytes_than_were_listed_are_not_written(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    hub.faults.append(Fault("/resolve/.*/vocab.txt", times=99, damage=lambda body: body * 1000))
    error = failure(fetch, hub_source, tmp_path / "m")
    assert error.reason is Reason.SERVER_ERROR
    assert "more than the 4 bytes" in str(error)


def test_bytes_that_changed_on_the_disk_between_two_runs_are_not_served(
    fetch: Callable[..., Any],
    hub_source: HuggingFaceSource,
    hub: HubServer,
    tmp_path: Path,
    needed: dict[str, bytes],
) -> None:
    hub.files[REPO].pop("2_Dense/model.safetensors")
    hub.faults.append(Fault("/cdn/", after=500_000, times=1))
    hub.faults.append(Fault("/cdn/", status=403, times=1))
    assert failure(fetch, hub_source, tmp_path / "m").reason is Reason.FORBIDDEN
    [partial] = tmp_path.glob(".m.incoming-*/model.safetensors.partial")
    with partial.open("r+b") as file:
        file.write(b"damage")
    fetch(hub_source, tmp_path / "m")
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == needed["model.safetensors"]


def test_a_full_disk_has_a_reason_of_its_own(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    hub.faults.append(Fault("/cdn/", status=403))
    failure(fetch, hub_source, tmp_path / "m")
    [incoming] = tmp_path.glob(".m.incoming-*")
    (incoming / "model.safetensors.partial").symlink_to("/dev/full")
    error = failure(fetch, hub_source, tmp_path / "m")
    assert (error.reason, error.reason.temporary) == (Reason.DISK_FULL, True)
    assert "make its volume larger" in str(error)


def test_a_model_for_which_the_disk_has_no_room_is_not_begun(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    class Huge(bytes):
        def __len__(self) -> int:
            return 2**40

    hub.files[REPO]["model.safetensors"] = Huge(b"")
    error = failure(fetch, hub_source, tmp_path / "m")
    assert error.reason is Reason.DISK_FULL
    assert "1.10 TB more are needed" in str(error)
    assert not hub.requests_for("/resolve/")


def test_a_folder_that_cannot_be_written_is_told(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    error = failure(fetch, hub_source, tmp_path / "file" / "m")
    assert (error.reason, error.reason.temporary) == (Reason.WRITE_FAILED, False)


@pytest.mark.parametrize(
    ("files", "reason", "words"),
    [
        ({"model.safetensors": b"w"}, Reason.NOT_FOUND, "no config.json there"),
        ({"config.json": b"{}", "pytorch_model.bin": b"p"}, Reason.NO_WEIGHTS, "only pytorch_model.bin: a pickle can"),
        ({"config.json": b"{}", "2_Dense/model.safetensors": b"w"}, Reason.NO_WEIGHTS, "no model.safetensors"),
    ],
)
def test_a_repository_without_a_model_is_told_before_anything_is_read(
    fetch: Callable[..., Any], hub: HubServer, tmp_path: Path, files: dict[str, bytes], reason: Reason, words: str
) -> None:
    hub.add("test/bad", files)
    error = failure(fetch, HuggingFaceSource("test/bad", None, None), tmp_path / "m")
    assert error.reason is reason
    assert words in str(error)
    assert not hub.requests_for("/resolve/")


def test_a_server_that_is_no_hub_and_one_that_is_not_there_are_told_apart(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    hub.faults.append(Fault("/api/", status=200))
    error = failure(fetch, hub_source, tmp_path / "m")
    assert (error.reason, "does not answer with JSON" in str(error)) == (Reason.REFUSED, True)
    hub.close()
    error = failure(fetch, hub_source, tmp_path / "m")
    assert (error.reason, error.reason.temporary) == (Reason.UNREACHABLE, True)
    assert "Connection refused" in str(error)


def test_no_query_of_an_address_is_ever_shown(
    fetch: Callable[..., Any], hub_source: HuggingFaceSource, hub: HubServer, tmp_path: Path
) -> None:
    hub.faults.append(Fault("/cdn/", times=99, status=503))
    error = failure(fetch, hub_source, tmp_path / "m")
    said = "\n".join([str(error), *fetch.said])  # type: ignore[attr-defined]
    assert "503" in said
    assert "secret-of-the-cdn" not in said


def test_a_killed_fetch_goes_on_where_it_was_killed(
    command: Callable[..., Any],
    hub_source: HuggingFaceSource,
    hub: HubServer,
    tmp_path: Path,
    files_in: Read,
    needed: dict[str, bytes],
    until: Callable[..., Any],
) -> None:
    released = threading.Event()
    hub.files[REPO].pop("2_Dense/model.safetensors")
    needed.pop("2_Dense/model.safetensors")
    hub.faults.append(Fault("/cdn/", after=1_234_567, then=lambda: released.wait(30)))
    first = command(manifest(hub_source), tmp_path / "m")
    until(lambda: [path for path in tmp_path.glob(".m.incoming-*/*.partial") if path.stat().st_size == 1_234_567])
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
) -> None:
    released = threading.Event()
    hub.files[REPO].pop("2_Dense/model.safetensors")
    hub.faults.append(Fault("/cdn/", after=1000, then=lambda: released.wait(30)))
    stopped = command(manifest(hub_source), tmp_path / "m")
    until(lambda: [path for path in tmp_path.glob(".m.incoming-*/*.partial") if path.stat().st_size == 1000])
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
    unused_tcp_port: int,
) -> None:
    released = threading.Event()
    hub.files[REPO].pop("2_Dense/model.safetensors")
    hub.faults.append(Fault("/cdn/", after=1000, then=lambda: released.wait(30)))
    running = command(manifest(hub_source), tmp_path / "m", "--metrics-listen", f"127.0.0.1:{unused_tcp_port}")
    until(lambda: [path for path in tmp_path.glob(".m.incoming-*/*.partial") if path.stat().st_size == 1000])
    with urllib.request.urlopen(f"http://127.0.0.1:{unused_tcp_port}/metrics", timeout=10) as answer:
        seen = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
    released.set()
    total = sum(len(body) for path, body in needed.items() if path != "2_Dense/model.safetensors")
    assert float(seen["trellis_fetch_total_bytes"]) == total
    assert float(seen["trellis_fetch_present_bytes"]) == total - 3_000_000 + 1000
    assert running.wait() == 0
