"""The committed modules are those that the .proto gives."""

import subprocess
import sys
from pathlib import Path

import pytest

SERVICES = Path(__file__).parents[2] / "services"
MODULES = ("embedding_pb2.py", "embedding_pb2.pyi", "embedding_pb2_grpc.py")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("generated")
    flags = ["-I.", f"--python_out={out}", f"--pyi_out={out}", f"--grpc_python_out={out}"]
    command = [sys.executable, "-m", "grpc_tools.protoc", *flags, "trellis_wire/v1/embedding.proto"]
    subprocess.run(command, cwd=SERVICES, check=True)
    return out / "trellis_wire" / "v1"


@pytest.mark.parametrize("module", MODULES)
def test_a_committed_module_is_fresh(generated: Path, module: str) -> None:
    committed = (SERVICES / "trellis_wire" / "v1" / module).read_text()
    assert committed == (generated / module).read_text(), "run `make proto`"
