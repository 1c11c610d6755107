"""Whole models through eager steps, captures and replays, with the backends that have a form for graphs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from backendkit.stand_ins import FlashAttention, Wrapper
from numpy.typing import NDArray
from paritykit.folder import random_model, save
from torch import Tensor
from transformers import BertConfig, BertModel, ModernBertConfig, ModernBertModel, Qwen3Config, Qwen3Model
from tulip_rose.rose import engine as engines
from tulip_rose.rose.backends.chosen import ChosenAttention
from tulip_rose.rose.backends.here import Here
from tulip_rose.rose.backends.needs import LAYOUT_BYTES, WORKSPACE_BYTES
from tulip_rose.rose.backends.releases import FLASH_ATTENTION_4, FLASHINFER
from tulip_rose.rose.backends.table import FA2, FA3, FLASH4, VARLEN
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.graphs.device import CaptureError, Graph, Step
from tulip_rose.rose.graphs.key import Buckets
from tulip_rose.rose.graphs.kit import FrameKit
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.options import EngineOptions, GraphOptions
from tulip_rose.sequence import OutputKind, Sequence

CPU = torch.device("cpu")
HOPPER = Here((9, 0), FLASH_ATTENTION_4.tested, FLASHINFER.tested, compiles=True)
VOCABULARY, LONGEST = 60, 40
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": LONGEST,
    "pad_token_id": 1,
}
SPECIAL = dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id"), 2)
QWEN: dict[str, Any] = {"num_key_value_heads": 2, "head_dim": 16}
GRAPHS = GraphOptions(multiple=16, slots=(2, 8), most_tokens=256)
MODELS: dict[str, Callable[[], Any]] = {
    "all seen": lambda: random_model(BertModel, BertConfig(**SIZES)),
    "causal": lambda: random_model(Qwen3Model, Qwen3Config(**SIZES, **QWEN)),
    "windows": lambda: random_model(ModernBertModel, ModernBertConfig(**SIZES, **SPECIAL, local_attention=8)),
}
Vectors = NDArray[np.float32]


class Captures(CpuGraphDevice):
    """Attends as if it had that GPU; within what is captured nobody may plan."""

    def kit(self, dtype: str, attention: str) -> Kit:
        kit = FrameKit(self.torch_device, "auto")
        kit.attention = ChosenAttention(attention, self.torch_device, HOPPER)
        return kit

    def capture(self, step: Step) -> Graph:
        def within() -> None:
            Wrapper.forbidden = True
            try:
                step()
            finally:
                Wrapper.forbidden = False

        return super().capture(within)


class NeverCaptures(Captures):
    def capture(self, step: Step) -> Graph:
        raise CaptureError("not here")


class StatesOut(Captures):
    """Gives the states of all rows, in memory that no step may read before it is written."""

    heads_in_graphs = False

    def empty(self, count: int, dtype: torch.dtype, *, pinned: bool = False) -> Tensor:
        memory = super().empty(count, dtype, pinned=pinned)
        return memory.fill_(float("nan")) if dtype.is_floating_point else memory.fill_(255)


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Engine]:
    """An engine of a model, on a device, with a backend."""

    def engine(model: str, device: CpuGraphDevice, backend: str, graphs: GraphOptions = GRAPHS) -> Engine:
        folder = tmp_path / model
        if not folder.exists():
            save(MODELS[model](), folder)
        with monkeypatch.context() as patched:
            patched.setattr(engines, "open_device", lambda *asked: device)
            options = EngineOptions(
                dtype="bfloat16", device="cpu-graphs", threads=1, attention_backend=backend, graphs=graphs
            )
            return Engine.load(folder, options)

    return engine


def texts(lengths: list[int], seed: int) -> list[NDArray[np.int32]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(3, VOCABULARY, length).astype(np.int32) for length in lengths]


def embed(engine: Engine, lengths: list[int], seed: int) -> Vectors:
    batch = Batch.pack([Sequence.whole(ids, engine.card.form()) for ids in texts(lengths, seed)])
    return engine.step(batch).wait(30).array()


@pytest.mark.parametrize(
    ("model", "backend"),
    [
        *((model, backend) for model in ("all seen", "causal") for backend in (FLASH4, FA3, VARLEN, FA2)),
        ("windows", FLASH4),
        ("windows", VARLEN),
    ],
)
def test_replays_give_what_eager_steps_of_their_size_give(
    load: Any,
    flash: FlashAttention,
    wrappers: list[Wrapper],
    kernel: list[dict[str, Any]],
    model: str,
    backend: str,
) -> None:
    graphs, eager = load(model, Captures(1), backend), load(model, NeverCaptures(1), backend)
    assert graphs.card.attention_backend == backend
    assert graphs.framed is not None
    # Two sizes in turn, each time with texts of other lengths; with pads, without, and with empty slots.
    sizes = [[5, 9, 3], [40], [4, 4, 8, 1], [30, 18], [16, 1], [7, 33, 8]]
    for seed, lengths in enumerate(sizes * 3):
        found, expected = embed(graphs, lengths, seed), embed(eager, lengths, seed)
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(found, expected)
    assert graphs.graphs.replayed > 2 * len(sizes) - 2
    assert graphs.graphs.capture_failed == 0


@pytest.mark.parametrize("backend", [FLASH4, FA3, VARLEN, FA2])
def test_a_step_in_flight_keeps_its_own_borders(
    load: Any, flash: FlashAttention, wrappers: list[Wrapper], kernel: list[dict[str, Any]], backend: str
) -> None:
    graphs, eager = load("all seen", Captures(1), backend), load("all seen", NeverCaptures(1), backend)
    cases = [[5, 11], [15, 1], [8, 8], [2, 14]]
    for seed, lengths in enumerate(cases):
        embed(graphs, lengths, seed)
    flights = [
        graphs.step(Batch.pack([Sequence.whole(ids, graphs.card.form()) for ids in texts(lengths, seed)]))
        for seed, lengths in enumerate(cases[:2])
    ]
    for seed, (flight, lengths) in enumerate(zip(flights, cases, strict=False)):
        np.testing.assert_array_equal(flight.wait(30).array(), embed(eager, lengths, seed))


# 114 pads, and 94 beyond sixteen multiples, in a model of 40 positions.
@pytest.mark.parametrize(("multiple", "lengths"), [(128, [5, 9]), (24, [*[LONGEST] * 9, 26])])
@pytest.mark.parametrize("backend", [FLASH4, FA3, VARLEN])
def test_pads_that_are_longer_than_any_text_may_be_have_states_as_texts_have(
    load: Any,
    flash: FlashAttention,
    wrappers: list[Wrapper],
    kernel: list[dict[str, Any]],
    backend: str,
    multiple: int,
    lengths: list[int],
) -> None:
    sizes = GraphOptions(multiple=multiple, slots=(2, 16), most_tokens=20 * multiple)
    engine = load("all seen", StatesOut(1), backend, sizes)
    rows = Buckets(multiple, most_tokens=20 * multiple).rows(sum(lengths))
    for seed in range(2):
        assert np.isfinite(embed(engine, lengths, seed)).all()
        assert torch.isfinite(engine.framed._arena._states[: SIZES["hidden_size"] * rows]).all()
    assert engine.graphs.replayed


def test_what_flashinfer_takes_for_itself_was_planned(
    load: Any, wrappers: list[Wrapper], flash: FlashAttention
) -> None:
    engine = load("causal", Captures(1), FA3)
    for seed, length in enumerate((3, 20, 40)):
        for count in (1, 2, 4):
            embed(engine, [length] * count, seed)
    static = [each for each in wrappers if each.in_graph]
    assert engine.memory.planned["attention"] == WORKSPACE_BYTES + 2 * LAYOUT_BYTES
    assert engine.memory.planned["plans"] == (16 * 2 + 1) * LAYOUT_BYTES
    assert 5 < len(static) <= 16 * 2
    assert {each.given["float_workspace_buffer"].nbytes for each in wrappers} == {WORKSPACE_BYTES}
    assert {each.layout.nbytes for each in static if each.layout is not None} == {LAYOUT_BYTES}
    other = load("causal", Captures(1), FLASH4)
    assert (other.memory.planned["attention"], other.memory.planned["plans"]) == (0, 0)


def test_flashinfer_is_planned_once_for_each_step_and_kind_of_layer(load: Any, wrappers: list[Wrapper]) -> None:
    engine = load("causal", Captures(1), FA3)
    for seed in range(5):
        embed(engine, [5, 11], seed)
    static = [each for each in wrappers if each.in_graph]
    assert {len(each.plans) for each in static} == {1 + 5}
    assert {each.runs for each in static} == {3 * (1 + 5)}


def test_tokens_that_nobody_sees_take_a_step_without_static_buffers_where_those_cannot_hide_them(
    load: Any, flash: FlashAttention, wrappers: list[Wrapper]
) -> None:
    for model, backend, framed in (("all seen", FLASH4, True), ("all seen", FA2, False), ("windows", FLASH4, False)):
        engine = load(model, Captures(1), backend)
        form = engine.card.form(OutputKind.DENSE)
        unseen = [Sequence.whole(ids, form) for ids in texts([9, 12], 3)]
        unseen[0] = replace(unseen[0], unseen=4)
        before = engine.graphs.eager
        engine.step(Batch.pack(unseen)).wait(30)
        assert (engine.graphs.eager > before) == framed
