"""The folder of a run of `local`: it goes with the run, or with the next one where the run was killed."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from trellis_operator.local.scratch import remove_left, scratch

RUNS = "from trellis_operator.local.scratch import scratch\nwith scratch() as own:\n    print(own, flush=True); input()"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own in place of the machine's, for children too."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_goes_with_its_run() -> None:
    with scratch() as own:
        (own / "embedding.json").write_text("{}")
    assert not own.exists()


def test_what_a_killed_run_left_goes_with_the_next_run_and_what_others_hold_stays(temporary: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RUNS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        left = Path(other.stdout.readline().strip())
        try:
            with scratch() as own:
                assert left.exists(), "its owner runs"
                remove_left()
                assert own.exists(), "a run does not take its own"
        finally:
            other.send_signal(signal.SIGKILL)
            other.wait(30)
    assert left.exists()
    with scratch() as own:
        assert sorted(temporary.iterdir()) == [own]


@pytest.mark.parametrize("name", ["trellis-local-x", "trellis-x"])
def test_folders_that_no_run_has_locked_stay(temporary: Path, name: str) -> None:
    (temporary / name).mkdir()
    remove_left()
    assert (temporary / name).exists()


def test_a_link_is_not_followed(temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "owner.lock").touch()
    (temporary / "trellis-local-link").symlink_to(elsewhere)
    remove_left()
    assert (elsewhere / "owner.lock").exists()
