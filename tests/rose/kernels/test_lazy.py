"""Who has no GPU has nothing to do with triton."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tulip_rose.rose.kernels.here import wanting


def test_an_engine_on_a_cpu_imports_no_triton(minilm: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tulip_rose.rose.engine import Engine, EngineOptions;"
        f"Engine.load(Path({str(minilm)!r}), EngineOptions(device='cpu')); import tulip_rose.rose.kernels.here;"
        "print('triton' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False"]


def test_what_is_missing_for_the_kernels_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no C compiler" in (wanting() or "")
    compiler = tmp_path / "gcc"
    compiler.write_text("")
    compiler.chmod(0o755)
    assert wanting() is None
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "triton")
    assert "not installed" in (wanting() or "")
