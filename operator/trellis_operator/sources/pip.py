"""Downloads one wheel with this interpreter's own pip, so that the user's index, proxy and certificates hold.

Never knows what is in the wheel.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.patience import Deadline
from trellis_operator.sources.progress import duration, size

_REPORT_EVERY_S = 2.0
_SETTINGS_S = 30.0
_SETTING = re.compile(r"^(global|download|:env:)\.([a-z-]+)='(.*)'$", re.MULTILINE)
_STRENGTH = ("global", "download", ":env:")


def download_wheel(
    requirement: str, folder: Path, stall_s: float, deadline: Deadline, say: Callable[[str], None]
) -> Path:
    """Download the wheel of `requirement` (`name==version`), without its dependencies, into `folder`.

    Args:
        requirement: what pip is asked for.
        folder: gets the wheel; pip's temporary files go below it, which is how the progress is seen.
        stall_s: how long nothing may arrive.
        deadline: the end of the fetch.
        say: gets a line every few seconds.

    Raises:
        FetchError: pip is missing, found nothing, failed, stalled, or was not done in time.
    """
    if importlib.util.find_spec("pip") is None:
        said = f"{requirement} must be downloaded, but this Python has no pip: python -m ensurepip"
        raise FetchError(Reason.BAD_SOURCE, said)
    work = folder / "pip"
    shutil.rmtree(work, ignore_errors=True)
    (work / "tmp").mkdir(parents=True)
    say(f"downloading {requirement} with pip")
    complaint, code = _wait(_start(requirement, work), work, stall_s, deadline, say)
    found = sorted(work.glob("wheels/*.whl"))
    if code or len(found) != 1:
        raise _failure(requirement, complaint)
    return found[0].rename(folder / found[0].name)


def pip_settings() -> dict[str, str]:
    """What this interpreter's pip is told by its files and by the environment; empty without pip."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SETTINGS_S, check=False)
    except subprocess.TimeoutExpired:
        return {}
    found = sorted(_SETTING.findall(done.stdout), key=lambda setting: _STRENGTH.index(setting[0]))
    return {name: value for _, name, value in found}


def _start(requirement: str, work: Path) -> subprocess.Popen[str]:
    arguments = ["download", "--no-deps", "--only-binary=:all:", "--progress-bar=off", "--no-input"]
    return subprocess.Popen(
        [sys.executable, "-m", "pip", *arguments, "--dest", str(work / "wheels"), requirement],
        env=os.environ | {"TMPDIR": str(work / "tmp")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def _wait(
    process: subprocess.Popen[str], work: Path, stall_s: float, deadline: Deadline, say: Callable[[str], None]
) -> tuple[str, int]:
    """Wait until pip ends, tell how it grows, and return what it complained about and its exit code."""
    start = moved = time.monotonic()
    seen = 0
    with process:
        try:
            while True:
                try:
                    complaint = process.communicate(timeout=_REPORT_EVERY_S)[1]
                    return complaint, process.returncode
                except subprocess.TimeoutExpired:
                    deadline.check()
                now, grown = time.monotonic(), _size(work)
                moved, seen = (now, grown) if grown != seen else (moved, seen)
                if now - moved > stall_s:
                    raise FetchError(Reason.STALLED, f"pip brought nothing for {stall_s:g} s")
                say(f"pip: {size(grown)} after {duration(now - start)}")
        except BaseException:
            process.kill()
            raise


def _size(folder: Path) -> int:
    """Bytes of all files below `folder`, while another process adds and removes some."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).stat().st_size
            except FileNotFoundError:
                continue
    return total


def _failure(requirement: str, complaint: str) -> FetchError:
    """Pip ends in the same way for each reason; its words tell which one it was."""
    told = f"pip could not download {requirement}: {_last_error(complaint)}"
    if "No space left on device" in complaint or "Disk quota exceeded" in complaint:
        return FetchError(Reason.DISK_FULL, told)
    if "Retrying (" in complaint or "connection" in complaint.lower():
        return FetchError(Reason.UNREACHABLE, f"{told} (the index was not reached)")
    return FetchError(Reason.NOT_FOUND, told)


def _last_error(complaint: str) -> str:
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it said nothing"])[-1].removeprefix("ERROR: ")
