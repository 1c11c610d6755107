"""Schemathesis against what the gateway says of itself: whatever is sent, no 5xx and no undocumented answer."""

import subprocess
import sys
from pathlib import Path

import pytest
from roadkit.stack import Stack

pytestmark = pytest.mark.processes

_TIMEOUT_S = 240
_CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.timeout(_TIMEOUT_S + 30)
def test_no_request_that_the_schema_can_think_of_breaks_the_gateway(stack: Stack, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{stack.url}/openapi.json"),
        *("--checks", _CHECKS, "--phases", "examples,coverage,fuzzing"),
        *("--mode", "all", "--max-examples", "60", "--seed", "3", "--generation-deterministic"),
        *("--request-timeout", "60", "--workers", "1", "--no-color"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "/v1/embeddings" in done.stdout
    assert stack.gateway.program.alive
    assert stack.engine.program.alive
