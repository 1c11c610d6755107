"""The openai Node client with its default settings against the gateway: `node/embeddings.test.mjs`, run by node."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from roadkit.busy import Busy
from roadkit.stack import KEY, Gateway, Stack

pytestmark = pytest.mark.processes

_FOLDER = Path(__file__).parent / "node"
_TIMEOUT_S = 180


@pytest.fixture(scope="module")
def node_folder() -> Path:
    """The folder of the Node tests with their packages, as the lock file says."""
    for tool in ("node", "npm"):
        assert shutil.which(tool), f"{tool} is not on this machine: the Node client cannot be tested without it"
    subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=_FOLDER, check=True, timeout=_TIMEOUT_S)
    return _FOLDER


def test_the_node_client_is_served_as_it_expects(node_folder: Path, stack: Stack, guarded: Gateway, busy: Busy) -> None:
    addresses = {"GATEWAY": stack.url, "GUARDED": guarded.url, "KEY": KEY, "FULL": busy.stack.url}
    with busy.full():
        done = subprocess.run(
            ["node", "--test", "--test-reporter=spec", "embeddings.test.mjs"],
            cwd=node_folder,
            env=os.environ | addresses,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fail 0" in done.stdout
    assert "pass 9" in done.stdout
