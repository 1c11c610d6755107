"""Every kernel is compiled for GPUs that are not here, down to their machine code. None is run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KIT = Path(__file__).parents[1] / "kernelkit" / "compiled.py"
SHARED = 48 * 1024
"""Bytes that a block has on every GPU without asking for more."""


@pytest.mark.parametrize("generation", [80, 90])
def test_every_kernel_compiles_for_a_generation_of_gpus(tmp_path: Path, generation: int) -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-m", "kernelkit.compiled", str(generation)],
        env={**environment, "PYTHONPATH": os.pathsep.join([*sys.path, str(KIT.parents[1])])},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert len(found) > 40
    assert all(each["shared"] <= SHARED and each["bytes"] > 0 for each in found.values())
