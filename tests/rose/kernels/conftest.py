"""Kernels are interpreted on the CPU; with TRITON_INTERPRET=0 they are compiled, and only the tests of a GPU can run.

Triton decides it when it is imported, for good, and transformers imports it for reasons of its own: here it is imported
again. The variable is as before afterwards, so that programs started by other tests know nothing of it.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
import torch
from paritykit.folder import save
from torch import Tensor

with pytest.MonkeyPatch.context() as patched:
    patched.setenv("TRITON_INTERPRET", os.environ.get("TRITON_INTERPRET", "1"))
    for name in [each for each in sys.modules if each.split(".")[0] == "triton"]:
        # Its compiled part has no such mode and can be loaded once.
        if not name.startswith("triton._C"):
            del sys.modules[name]
    # Looked for when a kernel is called for the first time.
    import_module("triton.experimental.gluon")
    from tulip_rose.rose.kernels.kit import TritonKit

from kernelkit.models import MODELS
from tulip_rose.rose import engine as engine_module
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.graphs.kit import OffsetsAttention
from tulip_rose.rose.layers.attention import TorchAttention
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.options import GRAPHS_ON_CPU, EngineOptions, GraphOptions

GRAPHS = GraphOptions(multiple=16, slots=(2, 8), most_tokens=96, most=8)
TOLERANCE = {torch.float32: 3e-5, torch.bfloat16: 1.6e-2}
"""In bfloat16 two units in the last place: the interpreter cuts where a GPU rounds."""


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)


@pytest.fixture
def kit() -> TritonKit:
    return TritonKit(TorchAttention())


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(7)


@pytest.fixture
def near() -> Callable[[Tensor, Tensor], None]:
    """Check that what a kernel made is what was computed in float64."""

    def check(found: Tensor, expected: Tensor) -> None:
        tolerance = TOLERANCE[found.dtype]
        torch.testing.assert_close(found.double(), expected, rtol=tolerance, atol=tolerance)

    return check


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a small model of a family, made once."""
    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            model, pooling = MODELS[family]
            made[family] = save(model(), tmp_path_factory.mktemp(family), pooling, normalize=True)
        return made[family]

    return folder


class InterpretedDevice(CpuGraphDevice):
    """A device of graphs whose kit is Triton's, and whose memory no step may read before it is written."""

    def kit(self, dtype: str, attention: str) -> Kit:
        return TritonKit(OffsetsAttention())

    def empty(self, count: int, dtype: torch.dtype, *, pinned: bool = False) -> torch.Tensor:
        memory = super().empty(count, dtype, pinned=pinned)
        return memory.fill_(float("nan")) if dtype.is_floating_point else memory.fill_(torch.iinfo(torch.int8).max)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, torch.device, str], Engine]:
    """Load an engine of Triton's layers."""

    def engine(folder: Path, device: torch.device, dtype: str) -> Engine:
        if device.type == "cuda":
            return Engine.load(folder, EngineOptions(device="cuda", dtype=dtype, graphs=GRAPHS))
        with monkeypatch.context() as patched:
            patched.setattr(engine_module, "open_device", lambda *asked: InterpretedDevice(1))
            return Engine.load(folder, EngineOptions(device=GRAPHS_ON_CPU, threads=1, dtype=dtype, graphs=GRAPHS))

    return engine
