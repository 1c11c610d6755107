"""Downloads that break: what is wrong with the bytes, the time or the disk never reaches the published folder."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hub_fault import Fault
from hub_server import HubServer
from trellis_operator.source import HuggingFaceSource
from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.patience import Patience

REPO = "test/model"
Read = Callable[[Path], dict[str, bytes]]


def manifest(source: HuggingFaceSource) -> dict[str, Any]:
    return {"huggingFace": {"repo": source.repo, "revision": source.revision}}


def failure(fetch: Callable[..., Any], *arguments: Any, **more: Any) -> FetchError:
    with pytest.raises(FetchError) as caught:
        fetch(*arguments, **more)
    return caught.value


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
