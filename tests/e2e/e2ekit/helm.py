"""Helm, the real one: built by the cluster tool, or the one that is installed."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "helm" / "trellis"
_TOOL = ROOT / "tests" / "cluster" / "cluster"
_BUILD_TIMEOUT_S = 1200


class HelmError(Exception):
    """Helm failed; the text is what it said."""


class Helm:
    """Helm behind `enter`, what precedes a command that talks to a cluster."""

    def __init__(self, enter: Sequence[str] = ()) -> None:
        self._command = [*enter, find_helm()]

    def run(self, *arguments: str, timeout_s: float = 200) -> str:
        """What Helm prints.

        Raises:
            HelmError: it failed.
        """
        command = [*self._command, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
        if done.returncode:
            raise HelmError(done.stderr.strip() or done.stdout.strip())
        return done.stdout


def find_helm() -> str:
    """The path of Helm; it is built where there is none."""
    installed = shutil.which("helm")
    if installed:
        return installed
    done = subprocess.run(
        [_TOOL, "build", "helm"], capture_output=True, text=True, timeout=_BUILD_TIMEOUT_S, check=False
    )
    if done.returncode:
        pytest.fail(f"helm is not installed, and could not be built: {done.stderr.strip()}", pytrace=False)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return str(cache / "trellis" / "cluster" / "bin" / "helm")
