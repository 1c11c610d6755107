"""Downloads one wheel with this interpreter's own pip, so that the user's index, proxy and certificates hold.

Never knows what is in the wheel.
"""

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from trellis_operator.errors import SourceError

TIMEOUT_S = 3600.0
_REPORT_EVERY_S = 2.0


def download_wheel(requirement: str, folder: Path, report: Callable[[str], None]) -> Path:
    """Download the wheel of `requirement` (`name==version`), without its dependencies, into `folder`.

    Args:
        requirement: what pip is asked for.
        folder: an empty folder; pip's temporary files go there too, which is how the progress is seen.
        report: gets a line every few seconds.

    Raises:
        SourceError: pip is missing, found nothing, failed, or took longer than an hour.
    """
    if importlib.util.find_spec("pip") is None:
        raise SourceError(f"{requirement} must be downloaded, but this Python has no pip: python -m ensurepip")
    wheels, scratch = folder / "wheels", folder / "scratch"
    scratch.mkdir()
    arguments = ["download", "--no-deps", "--only-binary=:all:", "--progress-bar=off", "--no-input"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pip", *arguments, "--dest", str(wheels), requirement],
        env=os.environ | {"TMPDIR": str(scratch)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    complaint = _wait(process, requirement, folder, report)
    found = sorted(wheels.glob("*.whl"))
    if process.returncode or len(found) != 1:
        raise SourceError(f"pip could not download {requirement}: {_last_error(complaint)}")
    return found[0]


def _wait(process: subprocess.Popen[str], requirement: str, folder: Path, report: Callable[[str], None]) -> str:
    """Wait until pip ends, report its growth, and return what it complained about."""
    start = time.monotonic()
    with process:
        while time.monotonic() - start < TIMEOUT_S:
            try:
                return process.communicate(timeout=_REPORT_EVERY_S)[1]
            except subprocess.TimeoutExpired:
                waited_s = time.monotonic() - start
                report(f"downloading {requirement}: {_size(folder) / 1e6:.0f} MB after {waited_s:.0f} s")
            except BaseException:
                process.kill()
                raise
        process.kill()
    raise SourceError(f"pip did not finish downloading {requirement} within {TIMEOUT_S:.0f} s")


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


def _last_error(complaint: str) -> str:
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it said nothing"])[-1].removeprefix("ERROR: ")
