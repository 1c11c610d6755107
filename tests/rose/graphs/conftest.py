"""Small models of every family, and engines of them with and without graphs."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from graphkit.fake_cuda import FakeCuda, FakeGraphDevice
from graphkit.outputs import MODELS
from numpy.typing import NDArray
from paritykit.folder import random_model, save
from torch import Tensor
from transformers import (
    BertConfig,
    BertModel,
    Gemma3TextConfig,
    Gemma3TextModel,
    ModernBertConfig,
    ModernBertModel,
    MPNetConfig,
    MPNetModel,
    NomicBertConfig,
    NomicBertModel,
    PreTrainedModel,
    Qwen3Config,
    Qwen3Model,
    XLMRobertaConfig,
    XLMRobertaModel,
)
from tulip_rose.rose import engine as engine_module
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.cuda import Cuda
from tulip_rose.rose.device import Device
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.graphs.cuda_device import CudaGraphDevice
from tulip_rose.rose.graphs.device import Event
from tulip_rose.rose.options import GRAPHS_ON_CPU, EngineOptions, GraphOptions
from tulip_rose.sequence import Sequence

Ids = NDArray[np.int32]
VOCABULARY, LONGEST = 60, 150
GRAPHS = GraphOptions(multiple=16, slots=(2, 8, 32), most_tokens=512, most=8)
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": LONGEST,
}
IDS = dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id", "pad_token_id"), 1)
SHARED: dict[str, Any] = {"num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 1}
WINDOWS: dict[str, Any] = {"sliding_window": 8, "sliding_window_pattern": 2, "use_bidirectional_attention": True}
FAMILIES: dict[str, Callable[[], PreTrainedModel]] = {
    "bert": lambda: random_model(BertModel, BertConfig(**SIZES)),
    "bert of a layer": lambda: random_model(BertModel, BertConfig(**{**SIZES, "num_hidden_layers": 1})),
    "xlm-roberta": lambda: random_model(XLMRobertaModel, XLMRobertaConfig(**SIZES, type_vocab_size=1)),
    "mpnet": lambda: random_model(MPNetModel, MPNetConfig(**SIZES)),
    "modernbert": lambda: random_model(ModernBertModel, ModernBertConfig(**SIZES, **IDS, local_attention=8)),
    "nomic": lambda: random_model(NomicBertModel, NomicBertConfig(**SIZES)),
    "qwen3": lambda: random_model(Qwen3Model, Qwen3Config(**SIZES, **SHARED)),
    "gemma": lambda: random_model(Gemma3TextModel, Gemma3TextConfig(**SIZES, **SHARED, **WINDOWS)),
}


class Counting:
    """Counts what is asked of a device, and hands out memory that no step may read before it is written."""

    def __init__(self, *made_of: Any) -> None:
        super().__init__(*made_of)
        self.asked: dict[str, int] = dict.fromkeys(("empty", "copy", "run", "capture", "mark", "wait"), 0)

    def empty(self, count: int, dtype: torch.dtype, *, pinned: bool = False) -> Tensor:
        self.asked["empty"] += 1
        poison = float("nan") if dtype.is_floating_point else torch.iinfo(dtype).max if dtype != torch.bool else True
        return super().empty(count, dtype, pinned=pinned).fill_(poison)

    def copy(self, target: Tensor, source: Tensor) -> None:
        self.asked["copy"] += 1
        super().copy(target, source)

    def run(self, step: Callable[[], None]) -> None:
        self.asked["run"] += 1
        super().run(step)

    def capture(self, step: Callable[[], None]) -> Any:
        self.asked["capture"] += 1
        return super().capture(step)

    def mark(self) -> Event:
        self.asked["mark"] += 1
        return CountedEvent(super().mark(), self.asked)


class CountingDevice(Counting, CpuGraphDevice):
    """Of a CPU."""


class CountingCuda(Counting, CudaGraphDevice):
    """Of a GPU."""


@pytest.fixture
def where() -> str:
    """The device of a test that says nothing else."""
    return GRAPHS_ON_CPU


@pytest.fixture
def error(where: str) -> float:
    """How far vectors may be apart. On a GPU they are of bfloat16: no kernel takes float32 in a graph."""
    return 2e-5 if where == GRAPHS_ON_CPU else 4e-2


class CountedEvent:
    def __init__(self, event: Event, asked: dict[str, int]) -> None:
        self.reached, self._event, self._asked = event.reached, event, asked

    def wait(self, timeout_s: float | None) -> None:
        self._asked["wait"] += 1
        self._event.wait(timeout_s)


Load = Callable[..., Engine]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a family, made once."""
    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            made[family] = save(FAMILIES[family](), tmp_path_factory.mktemp(family.replace(" ", "-")))
        return made[family]

    return folder


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a model with other outputs, made once."""
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp("outputs")
            MODELS[name](made[name])
        return made[name]

    return folder


@pytest.fixture
def model_of() -> Callable[[str], PreTrainedModel]:
    """The model that the folder of a family was saved of."""
    return lambda family: FAMILIES[family]()


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, where: str) -> Load:
    """Load an engine on a device of graphs of the test's own."""

    def engine(folder: Path, device: Device | None = None, graphs: GraphOptions = GRAPHS, **more: Any) -> Engine:
        own = device or (CountingDevice(1) if where == GRAPHS_ON_CPU else CountingCuda(Cuda()))
        if where != GRAPHS_ON_CPU:
            more = {"dtype": "bfloat16", **more}
        with monkeypatch.context() as patched:
            patched.setattr(engine_module, "open_device", lambda *asked: own)
            return Engine.load(folder, EngineOptions(device=GRAPHS_ON_CPU, threads=1, graphs=graphs, **more))

    return engine


@pytest.fixture
def folder(folders: Callable[[str], Path]) -> Path:
    """The folder of a test that asks for no family."""
    return folders("bert")


@pytest.fixture
def cuda() -> FakeCuda:
    """A GPU that is not there."""
    return FakeCuda()


@pytest.fixture
def engine(cuda: FakeCuda, folder: Path, load: Load) -> Engine:
    """With graphs, on that GPU."""
    return load(folder, FakeGraphDevice(cuda))


@pytest.fixture
def plain(where: str) -> Load:
    """Load an engine without graphs."""
    options: dict[str, Any] = {"device": "cpu", "threads": 1}
    if where != GRAPHS_ON_CPU:
        options = {"device": "cuda", "dtype": "bfloat16", "graphs": GraphOptions(mode="off")}
    return lambda folder, **more: Engine.load(folder, EngineOptions(**{**options, **more}))


@pytest.fixture
def texts_of() -> Callable[[list[int]], list[Ids]]:
    """Random texts of these lengths; no token of them has the id of pads."""
    rng = np.random.default_rng(11)
    return lambda lengths: [rng.integers(1, VOCABULARY, length).astype(np.int32) for length in lengths]


def embedded(engine: Engine, ids: list[Ids]) -> NDArray[np.float32]:
    batch = Batch.pack([Sequence.whole(own, engine.card.form()) for own in ids])
    return engine.step(batch).wait(30).array()


@pytest.fixture
def embed() -> Callable[[Engine, list[Ids]], NDArray[np.float32]]:
    """The vectors of texts, all in one batch."""
    return partial(embedded)
