"""Folders of one model on one volume: what is the same is not fetched twice, and what nobody reads goes."""

import fcntl
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hub_fault import Fault
from hub_server import HubServer
from trellis_operator.__main__ import main
from trellis_operator.source import HuggingFaceSource
from trellis_operator.sources import neighbours
from trellis_operator.sources.failure import FetchError
from trellis_operator.sources.patience import Patience

REPO = "test/model"
WEIGHTS = "model.safetensors"
Read = Callable[[Path], dict[str, bytes]]


@pytest.fixture
def floating(hub_source: HuggingFaceSource) -> HuggingFaceSource:
    """The same repository, by its branch."""
    return replace(hub_source, revision=None)


def names(volume: Path) -> set[str]:
    """What lies there but the locks, which are empty files."""
    return {path.name for path in volume.iterdir() if path.suffix != ".lock"}


def test_what_has_not_changed_in_a_branch_is_not_fetched_again_and_what_pods_read_stays_as_it_is(
    fetch: Callable[..., Any],
    floating: HuggingFaceSource,
    hub: HubServer,
    tmp_path: Path,
    needed: dict[str, bytes],
    files_in: Read,
) -> None:
    fetch(floating, tmp_path / "old", keep=frozenset())
    newer = dict(hub.files[REPO]) | {"config.json": needed["config.json"] + b" "}
    hub.add(REPO, newer)
    hub.asked.clear()
    run = fetch(floating, tmp_path / "new", keep=frozenset({"old"}))
    assert files_in(tmp_path / "new") == needed | {"config.json": newer["config.json"]}
    assert files_in(tmp_path / "old") == needed
    assert not hub.requests_for("/cdn/"), "the weights are the same"
    assert "are not fetched again" in run.said
    assert names(tmp_path) == {"old", "new"}
    fetch(floating, tmp_path / "new", keep=frozenset())
    assert names(tmp_path) == {"new"}
    assert files_in(tmp_path / "new") == needed | {"config.json": newer["config.json"]}


def test_a_file_that_was_spoilt_since_is_not_lent(
    fetch: Callable[..., Any], floating: HuggingFaceSource, tmp_path: Path, needed: dict[str, bytes], files_in: Read
) -> None:
    fetch(floating, tmp_path / "old", keep=frozenset())
    (tmp_path / "old" / WEIGHTS).write_bytes(b"x" * len(needed[WEIGHTS]))
    (tmp_path / "old" / "config.json").write_bytes(b"{}")
    fetch(floating, tmp_path / "new", keep=frozenset({"old"}))
    assert files_in(tmp_path / "new") == needed
    assert (tmp_path / "old" / "config.json").read_bytes() == b"{}", "what others may read is not written"


def test_a_file_system_without_links_costs_a_download(
    fetch: Callable[..., Any],
    floating: HuggingFaceSource,
    tmp_path: Path,
    needed: dict[str, bytes],
    files_in: Read,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "no links here")

    fetch(floating, tmp_path / "old", keep=frozenset())
    monkeypatch.setattr(os, "link", refuse)
    fetch(floating, tmp_path / "new", keep=frozenset({"old"}))
    assert files_in(tmp_path / "new") == needed


def test_a_download_that_was_given_up_goes_on_in_the_folder_that_is_asked_for_now(
    fetch: Callable[..., Any],
    floating: HuggingFaceSource,
    hub: HubServer,
    tmp_path: Path,
    needed: dict[str, bytes],
    files_in: Read,
) -> None:
    hub.faults += [Fault("/cdn/", after=1_000_000) for _ in range(50)]
    with pytest.raises(FetchError):
        fetch(floating, tmp_path / "first", patience=Patience(deadline_s=2, stall_s=1), keep=frozenset())
    hub.faults.clear()
    hub.asked.clear()
    fetch(floating, tmp_path / "second", keep=frozenset())
    assert files_in(tmp_path / "second") == needed
    begun = hub.requests_for("/cdn/.*model")
    assert begun
    assert all(asked.headers["Range"] for asked in begun)
    assert names(tmp_path) == {"second"}


def test_only_folders_of_fetches_go_and_none_that_is_kept_or_made_at_this_moment(
    fetch: Callable[..., Any], floating: HuggingFaceSource, tmp_path: Path
) -> None:
    for name in ("read", "unread", "made"):
        fetch(floating, tmp_path / name)
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".begun.incoming-0123").mkdir()
    (tmp_path / ".unread.removed").mkdir()
    with (tmp_path / ".made.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fetch(floating, tmp_path / "new", keep=frozenset({"read"}))
    assert names(tmp_path) == {"read", "made", "new", "lost+found", "notes.txt"}


def test_a_folder_that_is_removed_is_never_there_with_a_part_of_its_files(
    fetch: Callable[..., Any], floating: HuggingFaceSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(path: Path) -> None:
        assert path.name == ".old.removed"
        raise OSError(5, "killed here")

    fetch(floating, tmp_path / "old")
    monkeypatch.setattr(neighbours.shutil, "rmtree", cut)
    run = fetch(floating, tmp_path / "new", keep=frozenset())
    assert not (tmp_path / "old").exists()
    assert "cannot be removed: killed here" in run.said
    monkeypatch.undo()
    fetch(floating, tmp_path / "new", keep=frozenset())
    assert names(tmp_path) == {"new"}


def test_without_the_flag_nothing_beside_the_folder_is_touched(
    fetch: Callable[..., Any], floating: HuggingFaceSource, tmp_path: Path
) -> None:
    fetch(floating, tmp_path / "one")
    fetch(floating, tmp_path / "two")
    assert names(tmp_path) == {"one", "two"}


def test_the_command_keeps_what_it_is_told_to(
    fetch: Callable[..., Any], command: Callable[..., Any], hub_source: HuggingFaceSource, tmp_path: Path
) -> None:
    volume = tmp_path / "volume"
    for name in ("a", "b"):
        fetch(hub_source, volume / name)
    source = {"huggingFace": {"repo": REPO, "revision": hub_source.revision}}
    run = command(source, volume / "c", "--keep", "b")
    assert run.wait() == 0, run.said
    assert names(volume) == {"b", "c"}


def test_what_is_kept_is_a_folder_beside_and_no_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fetch", "--source", "x", "--to", str(tmp_path / "d"), "--keep", "../a"])
    assert ended.value.code == 2
    assert "'../a' is not the name of a folder beside DIR" in capsys.readouterr().err
