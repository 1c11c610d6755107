"""Schemathesis against what the gateway says of itself: whatever is sent, no 5xx and no undocumented answer."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from roadkit.http import get
from roadkit.stack import Stack
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

pytestmark = pytest.mark.processes

_TIMEOUT_S = 240
_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.mark.timeout(_TIMEOUT_S + 30)
def test_no_request_that_the_schema_can_think_of_breaks_the_gateway(stack: Stack, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{stack.url}/openapi.json"),
        *("--checks", ",".join(check.__name__ for check in _CHECKS), "--phases", "examples,coverage,fuzzing"),
        *("--mode", "all", "--max-examples", "60", "--seed", "3", "--generation-deterministic"),
        *("--request-timeout", "60", "--workers", "1", "--no-color"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    # The tool leaves out the route that it reads the document from.
    operations = sum(map(len, get(f"{stack.url}/openapi.json").json["paths"].values())) - 1
    assert f"{operations} selected" in done.stdout
    _still_serves(stack)


@pytest.mark.parametrize(
    ("path", "examples", "answered"),
    [
        ("/v1/embeddings", 250, 20),
        ("/v2/embed", 60, 10),
        ("/embed", 60, 10),
        ("/similarity", 60, 10),
        ("/tokenize", 60, 10),
        ("/decode", 60, 10),
        ("/v1/contextualizedembeddings", 60, 10),
        ("/v1/rerank", 60, 10),
        ("/v1/score", 60, 10),
    ],
)
def test_no_request_for_the_served_model_breaks_the_gateway(
    stack: Stack, path: str, examples: int, answered: int
) -> None:
    operation = schemathesis.openapi.from_url(f"{stack.url}/openapi.json")[path]["POST"]
    described = get(f"{stack.url}/openapi.json").json["paths"][path]["post"]
    works = described["requestBody"]["content"]["application/json"]["example"]
    statuses: Counter[int] = Counter()

    @settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=operation.as_strategy(), place=st.integers(0, 99))
    def send(case: schemathesis.Case, place: int) -> None:
        # No schema says which fields exclude one another: one of them is also sent alone, in a body that works.
        for body in (case.body, works | _one_of(case.body, place)):
            case.body = body | ({"model": "minilm"} if "model" in body else {})
            response = case.call(timeout=60)
            statuses[response.status_code] += 1
            case.validate_response(response, checks=_CHECKS)

    send()
    assert statuses[200] >= answered, statuses
    assert set(statuses) <= {200, 400}, statuses
    _still_serves(stack)


def _one_of(body: dict[str, Any], place: int) -> dict[str, Any]:
    """The field at a place, which goes round; nothing of nothing."""
    names = sorted(body)
    return {names[place % len(names)]: body[names[place % len(names)]]} if names else {}


def _still_serves(stack: Stack) -> None:
    assert stack.gateway.program.alive
    assert stack.engine.program.alive
    assert stack.gateway.ready()
