"""The command line of `fetch`: bad orders end with one line and exit code 2 before anything is asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hub_server import HubServer


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("not json", "is not JSON"),
        ("[]", "does not hold one JSON object"),
        ("x" * 70_000, "at most 65536 bytes"),
        ({}, "exactly one of huggingFace, s3, pvc, image, package must be given"),
        ({"huggingFace": {"repo": "a/b"}}, "revision is required"),
        ({"huggingFace": {"repo": "a b", "revision": "c"}}, "does not match"),
        ({"huggingFace": {"repo": "a/b", "revison": "c"}}, "did you mean revision?"),
        ({"pvc": {"claimName": "models"}}, "a source of the kind pvc is mounted: nothing is fetched"),
        ({"image": {"reference": "models:1"}}, "a source of the kind image is mounted"),
    ],
)
def test_a_source_that_cannot_be_fetched_is_told(
    command: Callable[..., Any], hub: HubServer, tmp_path: Path, source: object, words: str
) -> None:
    run = command(source, tmp_path / "m")
    assert run.wait() == 2
    assert words in run.said
    assert "Traceback" not in run.said
    assert len(run.said.splitlines()) == 1
    assert not hub.asked


@pytest.mark.parametrize(
    "flags",
    [
        ("--part", "half"),
        ("--deadline-seconds", "0"),
        ("--deadline-seconds", "nan"),
        ("--stall-seconds", "soon"),
        ("--metrics-listen", "9100"),
        ("--metrics-listen", "localhost:99999"),
    ],
)
def test_a_bad_flag_ends_with_exit_code_two(
    command: Callable[..., Any], hub: HubServer, tmp_path: Path, flags: tuple[str, str]
) -> None:
    run = command({"huggingFace": {"repo": "test/model", "revision": "main"}}, tmp_path / "m", *flags)
    assert run.wait() == 2
    assert flags[0] in run.said
    assert not hub.asked


def test_surroundings_that_cannot_be_meant_end_with_one_line(command: Callable[..., Any], tmp_path: Path) -> None:
    run = command({"s3": {"uri": "s3://b/f"}}, tmp_path / "m", AWS_ACCESS_KEY_ID="only-this")
    assert run.wait() == 2
    assert run.said.splitlines() == ["error: only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set"]


def test_a_metrics_port_that_is_taken_is_told(command: Callable[..., Any], hub: HubServer, tmp_path: Path) -> None:
    source = {"huggingFace": {"repo": "test/model", "revision": "main"}}
    run = command(source, tmp_path / "m", "--metrics-listen", f"127.0.0.1:{hub.port}")
    assert run.wait() == 2
    assert f"127.0.0.1:{hub.port} cannot be listened on" in run.said
    assert "Traceback" not in run.said
