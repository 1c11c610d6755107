"""`python -m trellis_operator local` with the real gateway and engine: what a person at a terminal meets."""

import json
import math
import os
import signal
import subprocess
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from localkit.asking import embed
from localkit.running import DEADLINE_S, LOCAL, Running, running

pytestmark = pytest.mark.processes

Body = dict[str, Any]
WriteManifest = Callable[[Body], Path]


def test_once_prints_one_answer_and_stops(manifest: str, minilm: Path) -> None:
    command = [*LOCAL, manifest, "--model", str(minilm), "--port", "0", "--once", "Hello, world"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)
    vector = answer["data"][0]["embedding"]
    assert (answer["model"], len(vector)) == ("all-minilm-l6-v2", 384)
    assert math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-5)


def test_the_lines_of_the_greeting_work_when_pasted(local: Running) -> None:
    curl, python = (line for line in local.answers if line.strip())
    asked = subprocess.run(["bash", "-c", curl], capture_output=True, text=True, timeout=30, check=True)
    assert len(json.loads(asked.stdout)["data"][0]["embedding"]) == 384
    asked = subprocess.run(["bash", "-c", python], capture_output=True, text=True, timeout=30, check=True)
    assert len(json.loads(asked.stdout)) == 4


@pytest.mark.parametrize(("kind", "shown"), [("reranker", "relevance_score"), ("splade", "value")])
def test_the_greeting_of_a_model_without_dense_vectors_works_too(
    minimal: Body, write_manifest: WriteManifest, without_vectors: Callable[[str], Path], kind: str, shown: str
) -> None:
    minimal["spec"].pop("embedding", None)
    with running(str(write_manifest(minimal)), "--model", str(without_vectors(kind))) as local:
        local.until_ready()
        for line in filter(str.strip, local.answers):
            asked = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=30, check=True)
            assert shown in asked.stdout


def test_with_api_keys_the_greeting_takes_the_key_from_the_environment(
    manifest: str, minilm: Path, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    keys.write_text("# of the test\nsk-first\nsk-second\n")
    with running(manifest, "--model", str(minilm), "--api-keys-file", str(keys)) as local:
        url = local.until_ready()
        with pytest.raises(urllib.error.HTTPError, match="401"):
            embed(url, "no key")
        for line in filter(str.strip, local.answers):
            environment = os.environ | {"TRELLIS_API_KEY": "sk-second"}
            asked = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=30, env=environment)
            assert asked.returncode == 0, asked.stderr
            assert "0." in asked.stdout
        assert "sk-" not in "".join(local.said + local.answers)


def test_engines_are_as_many_as_the_manifest_says(minimal: Body, write_manifest: WriteManifest, minilm: Path) -> None:
    minimal["spec"]["engine"]["replicas"] = 2
    with running(str(write_manifest(minimal)), "--model", str(minilm), "--threads", "2") as local:
        url = local.until_ready()
        pids = [local.pid_of(f"engine-{index}") for index in (0, 1)]
        commands = [Path(f"/proc/{pid}/cmdline").read_text().split("\0") for pid in pids]
        assert [command[command.index("--threads") + 1] for command in commands] == ["1", "1"]
        # An engine is ready a moment before the gateway has seen that it is.
        local.until(lambda: sum("ivy.client.watch" in line and "is ready" in line for line in local.said) == 2)
        os.kill(pids[0], signal.SIGKILL)
        assert len(embed(url, "the other one answers")) == 384
