"""`local` serves a model of a hub as it serves one of a package: the same files, the same vectors."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hub_server import HubServer

pytestmark = pytest.mark.processes
ROOT = Path(__file__).parents[2]


@pytest.fixture
def once(tmp_path: Path) -> Callable[..., tuple[str, str]]:
    """Embeds one text by a manifest with that source; returns the answer and what was said."""

    def run(source: dict[str, Any] | None, *flags: str, **environment: str) -> tuple[str, str]:
        body = yaml.safe_load((ROOT / "examples" / "minilm.yaml").read_text())
        body["spec"]["model"]["source"] = source or body["spec"]["model"]["source"]
        manifest = tmp_path / "manifest.yaml"
        manifest.write_text(yaml.safe_dump(body))
        command = [sys.executable, "-m", "trellis_operator", "local", str(manifest), "--port", "0", "--once", "Hello"]
        environment = os.environ | {"TRELLIS_CACHE": str(tmp_path / "cache")} | environment
        done = subprocess.run([*command, *flags], env=environment, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    return run


def test_a_model_of_a_hub_is_fetched_once_and_gives_the_same_vectors(
    once: Callable[..., tuple[str, str]], hub: HubServer, minilm: Path
) -> None:
    files = {path.relative_to(minilm).as_posix(): path.read_bytes() for path in minilm.rglob("*") if path.is_file()}
    commit = hub.add("test/minilm", files)
    source = {"huggingFace": {"repo": "test/minilm", "revision": commit}}
    answer, said = once(source, HF_ENDPOINT=hub.url)
    assert "huggingFace test/minilm" in said
    expected, _ = once(None, "--model", str(minilm))
    assert json.loads(answer)["data"] == json.loads(expected)["data"]
    hub.asked.clear()
    assert once(source, HF_ENDPOINT=hub.url)[0] == answer
    assert not hub.asked


def test_what_a_hub_refuses_ends_local_with_one_line(hub: HubServer, tmp_path: Path) -> None:
    body = yaml.safe_load((ROOT / "examples" / "minilm.yaml").read_text())
    body["spec"]["model"]["source"] = {"huggingFace": {"repo": "test/none", "revision": "main"}}
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(yaml.safe_dump(body))
    done = subprocess.run(
        [sys.executable, "-m", "trellis_operator", "local", str(manifest), "--port", "0"],
        env=os.environ | {"TRELLIS_CACHE": str(tmp_path / "cache"), "HF_ENDPOINT": hub.url},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: huggingFace test/none: the server answers 401")
