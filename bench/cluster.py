"""A cluster of the project's own tool, for benchmarks that need one. Needs root."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOL = str(ROOT / "tests" / "cluster" / "cluster")


def named(name: str) -> None:
    """Mean the cluster of this name from now on, in this process and its children."""
    os.environ["TRELLIS_CLUSTER"] = name


def tool(*arguments: str) -> str:
    """What the cluster tool prints."""
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=True).stdout


def built(program: str) -> str:
    """Where the cluster tool keeps a program that it has built, or fetched."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(cache) / "trellis" / "cluster" / "bin" / program)


def kubectl(*arguments: str, stdin: str | None = None) -> str:
    """What kubectl prints."""
    command = [TOOL, "run", "kubectl", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout


def until(what: str, timeout_s: float, seen: Callable[[], bool], every_s: float = 0.5) -> None:
    """Wait until it is seen.

    Raises:
        TimeoutError: not in time.
    """
    deadline = time.monotonic() + timeout_s
    while not seen():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout_s:g} s: {what}")
        time.sleep(every_s)
