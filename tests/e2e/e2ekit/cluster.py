"""Which cluster the tests use, and how a command reaches it: the one of `KUBECONFIG`, else one that is brought up here.

Never knows what runs on it.
"""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[3]
_TOOL = str(_ROOT / "tests" / "cluster" / "cluster")
_UP_TIMEOUT_S = 2400  # of which nearly all is the first build of Kubernetes


@dataclass(frozen=True)
class Cluster:
    """A Kubernetes.

    Attributes:
        enter: what precedes a command that talks to the API server or to pods.
        state: folder of a cluster of our own, with its logs; None for one that `KUBECONFIG` names.
    """

    enter: tuple[str, ...]
    state: Path | None

    @property
    def own(self) -> bool:
        """Whether we brought it up, and may stop its parts."""
        return self.state is not None

    @property
    def audit_log(self) -> Path:
        """Every write that the API server has seen: one JSON object a line."""
        assert self.state is not None
        return self.state / "log" / "audit.log"

    def tool(self, *arguments: str) -> str:
        """What `tests/cluster/cluster` prints; fails with what it says is wrong."""
        return _tool(*arguments)

    def answers(self) -> bool:
        """Whether the API server is there."""
        command = [*self.enter, "kubectl", "get", "--raw", "/readyz", "--request-timeout=2s"]
        return subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0


@lru_cache
def find_cluster() -> Cluster:
    """The cluster of `KUBECONFIG`, else our own, brought up unless it is there."""
    if os.environ.get("KUBECONFIG"):
        return Cluster(enter=(), state=None)
    _tool("up")
    return Cluster(enter=(_TOOL, "run"), state=Path(_tool("kubeconfig").strip()).parent)


def _tool(*arguments: str) -> str:
    return checked([_TOOL, *arguments], _UP_TIMEOUT_S)


def checked(command: Sequence[str], timeout_s: float) -> str:
    """What `command` prints; a test fails with its complaint when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False, cwd=_ROOT)
    if done.returncode:
        pytest.fail(f"{' '.join(command[:3])} failed:\n{done.stderr.strip()[-4000:]}", pytrace=False)
    return done.stdout
