"""What `python -m trellis_operator local` does not start with, and the one line that says why."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from localkit.running import DEADLINE_S, LOCAL

pytestmark = pytest.mark.processes

Body = dict[str, Any]
WriteManifest = Callable[[Body], Path]


def refused(*arguments: str, **options: Any) -> str:
    """Run a `local` that must fail: exit code 2, no traceback, nothing on standard output; returns its error."""
    ended = subprocess.run([*LOCAL, *arguments], capture_output=True, text=True, timeout=DEADLINE_S, **options)
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, ended.stderr
    return errors[0]


def test_a_taken_port_is_refused_in_one_line(manifest: str, minilm: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refused(manifest, "--model", str(minilm), "--port", port)
    assert said == f"error: port {port} of 127.0.0.1 is taken by another program; choose another one with --port"


def test_an_unknown_field_is_refused_in_one_line(minimal: Body, write_manifest: WriteManifest) -> None:
    minimal["spec"]["engine"]["replica"] = 1
    path = write_manifest(minimal)
    assert refused(str(path)) == f"error: {path}: spec.engine.replica: unknown field, did you mean replicas?"


def test_a_missing_model_folder_is_refused_in_one_line(manifest: str, tmp_path: Path) -> None:
    said = refused(manifest, "--model", str(tmp_path))
    assert said == f"error: --model {tmp_path}: no model there, a config.json is missing"


def test_a_missing_manifest_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "absent.yaml"
    assert refused(str(path)) == f"error: {path}: cannot be read: No such file or directory"


def test_a_source_of_clusters_is_refused_in_one_line(minimal: Body, write_manifest: WriteManifest) -> None:
    minimal["spec"]["model"]["source"] = {"pvc": {"claimName": "models"}}
    assert "which only a cluster mounts" in refused(str(write_manifest(minimal)))


def test_keys_that_only_a_cluster_has_are_refused_in_one_line(minimal: Body, write_manifest: WriteManifest) -> None:
    minimal["spec"]["gateway"]["apiKeysSecretRef"] = {"name": "keys"}
    assert "give the keys with --api-keys-file" in refused(str(write_manifest(minimal)))


def test_a_missing_torch_is_refused_in_one_line(manifest: str, minilm: Path) -> None:
    script = (
        "import sys; sys.modules['torch'] = None; from trellis_operator.__main__ import main;"
        f"sys.exit(main(['local', {manifest!r}, '--model', {str(minilm)!r}]))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=DEADLINE_S)
    assert ended.returncode == 2
    assert ended.stderr == "error: not installed: torch; get it with: pip install 'trellis-serve[engine]'\n"


def test_an_engine_that_cannot_start_is_told_by_its_own_last_line(manifest: str, minilm: Path, tmp_path: Path) -> None:
    """A folder with a tokenizer but of an architecture that nobody knows."""
    for file in minilm.iterdir():
        (tmp_path / file.name).symlink_to(file)
    config = json.loads((tmp_path / "config.json").read_text()) | {"architectures": ["Oracle"], "model_type": "oracle"}
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").write_text(json.dumps(config))
    said = refused(manifest, "--model", str(tmp_path), "--port", "0")
    assert said.startswith("error: engine-0 ended with code 2: ")
    assert "oracle" in said.lower()
