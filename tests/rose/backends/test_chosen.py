"""A model's layers with the backend that the table chooses for each."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from backendkit.stand_ins import FlashAttention, Wrapper
from graphkit.batches import ragged_of
from paritykit.folder import random_model, save
from transformers import ModernBertConfig, ModernBertModel, MPNetConfig, MPNetModel
from tulip_rose.rose import engine as engines
from tulip_rose.rose.backends.chosen import ChosenAttention
from tulip_rose.rose.backends.here import Here, has_compiler
from tulip_rose.rose.backends.releases import FLASH_ATTENTION_4, FLASHINFER
from tulip_rose.rose.device import CpuDevice
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError, RoseError
from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.layers.attention import Mask
from tulip_rose.rose.layers.kit import Kit, TorchKit
from tulip_rose.rose.options import EngineOptions

CPU = torch.device("cpu")
HOPPER = Here((9, 0), FLASH_ATTENTION_4.tested, FLASHINFER.tested, compiles=True)
SIZES: dict[str, Any] = {
    "vocab_size": 40,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "max_position_embeddings": 70,
    "pad_token_id": 0,
}
SPECIAL = dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id"), 2)


@pytest.fixture
def modern(tmp_path: Path) -> Path:
    """Windows to both sides in most layers."""
    config = ModernBertConfig(**SIZES, **SPECIAL, local_attention=8)
    return save(random_model(ModernBertModel, config), tmp_path / "modern")


@pytest.fixture
def mpnet(tmp_path: Path) -> Path:
    """A bias by distance in all layers."""
    return save(random_model(MPNetModel, MPNetConfig(**SIZES)), tmp_path / "mpnet")


def load(folder: Path, here: Here, monkeypatch: pytest.MonkeyPatch, backend: str = "auto") -> Engine:
    """On a CPU that attends as if it had that GPU."""

    class Pretending(CpuDevice):
        def kit(self, dtype: str, attention: str) -> Kit:
            return TorchKit(self.torch_device, ChosenAttention(attention, self.torch_device, here))

    monkeypatch.setattr(engines, "open_device", lambda *asked: Pretending(1))
    return Engine.load(folder, EngineOptions(dtype="bfloat16", attention_backend=backend))


def test_layers_of_one_model_may_have_several_backends(
    modern: Path, kernel: list[dict[str, Any]], wrappers: list[Wrapper], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = load(modern, replace(HOPPER, flash_attention_4=None), monkeypatch)
    assert engine.card.attention_backend == "flashinferFa3+torchVarlen"
    assert {(call["window_size_left"], call["window_size_right"]) for call in kernel} == {(4, 4)}
    assert sum(wrapper.runs for wrapper in wrappers) == 2


def test_a_model_with_windows_to_both_sides_has_flash_attention_4_alone(
    modern: Path, flash: FlashAttention, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load(modern, HOPPER, monkeypatch).card.attention_backend == "flashattention4"
    assert {call.get("window_size") for call in flash.calls} == {(None, None), (4, 4)}


def test_a_model_with_a_bias_has_torchs_attention(mpnet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(mpnet, HOPPER, monkeypatch).card.attention_backend == "torch"


def test_a_backend_that_cannot_serve_a_model_stops_the_start_with_what_would(
    modern: Path, wrappers: list[Wrapper], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RoseError, match=r"flashinferFa2 cannot serve.*what would work here: auto, flashattention4"):
        load(modern, HOPPER, monkeypatch, "flashinferFa2")


def test_a_name_that_no_backend_has_stops_the_start(modern: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LoadError, match="'fa9' is not known here"):
        load(modern, HOPPER, monkeypatch, "fa9")


def test_a_library_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    attention = ChosenAttention("flashattention4", CPU, HOPPER)
    q, k, v = torch.randn(3, 3, 4, 64).bfloat16().unbind(1)
    with pytest.raises(LoadError, match="flashattention4 is installed and cannot be imported: No module named"):
        attention(q, k, v, ragged_of([3]), Mask(), 1.0)


def test_the_choice_is_logged_once_for_each_kind_of_layer_with_its_reasons(
    flash: FlashAttention, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    attention = ChosenAttention("auto", CPU, HOPPER)
    q, k, v = torch.randn(9, 3, 4, 64).bfloat16().unbind(1)
    for mask in (Mask(), Mask(window=(2, 2)), Mask(), Mask(window=(2, 2))):
        attention(q, k, v, ragged_of([4, 5]), mask, 1.0)
    first, second = caplog.messages
    assert first.startswith("attention of 4 heads of 64, all seen, bfloat16: flashattention4: made for this generation")
    assert "2 and 2 seen before and after" in second


@pytest.mark.parametrize(
    ("backend", "here", "said"),
    [
        ("flashattention4", {}, []),
        (
            "flashattention4",
            {"flash_attention_4": "4.1.0"},
            ["attentionBackend flashattention4: flash-attn-4 4.1.0 is not the tested release 4.0.0b36"],
        ),
        ("flashattention4", {"flashinfer": "0.8.0"}, []),
        ("flashinferFa3", {"flashinfer": f"{FLASHINFER.tested}+cu130"}, []),
        (
            "flashinferFa2",
            {"flashinfer": "0.8.0"},
            ["attentionBackend flashinferFa2: flashinfer-python 0.8.0 is not the tested release 0.7.4"],
        ),
        ("torchVarlen", {"flash_attention_4": "4.1.0", "flashinfer": "0.8.0"}, []),
    ],
)
def test_a_library_whose_release_is_not_the_tested_one_is_told_once_and_used(
    flash: FlashAttention,
    wrappers: list[Wrapper],
    kernel: list[dict[str, Any]],
    caplog: pytest.LogCaptureFixture,
    backend: str,
    here: dict[str, str],
    said: list[str],
) -> None:
    attention = ChosenAttention(backend, CPU, replace(HOPPER, **here))
    q, k, v = torch.randn(9, 3, 4, 64).bfloat16().unbind(1)
    for mask in (Mask(), Mask(causal=True)):
        assert attention(q, k, v, ragged_of([4, 5]), mask, 1.0).isfinite().all()
    assert caplog.messages == said


def test_tokens_that_nobody_sees_are_left_to_torch_where_there_are_windows(flash: FlashAttention) -> None:
    attention = ChosenAttention("auto", CPU, HOPPER)
    q, k, v = torch.randn(9, 3, 4, 64).bfloat16().unbind(1)
    attention(q, k, v, ragged_of([4, 5], [4, 3]), Mask(window=(2, 2)), 1.0)
    assert not flash.calls
    attention(q, k, v, ragged_of([4, 5], [4, 3]), Mask(), 1.0)
    [call] = flash.calls
    assert call["seqused_k"].tolist() == [4, 3]


def static(starts: list[int]) -> Ragged:
    """Sequences of which only the device knows the lengths."""
    on_device = torch.tensor(starts, dtype=torch.int32)
    return Ragged(on_device, starts[-1], starts[-1], seen=on_device.diff())


def test_torchs_attention_never_runs_without_lengths_on_the_host(wrappers: list[Wrapper]) -> None:
    attention = ChosenAttention("torch", CPU, HOPPER)
    q, k, v = torch.randn(4, 3, 4, 64).bfloat16().unbind(1)
    would = "auto, flashattention4, flashinferFa3, torchVarlen, flashinferFa2"
    with pytest.raises(LoadError, match=rf"torch cannot serve .* in a graph: .*; what would work here: {would}$"):
        attention(q, k, v, static([0, 3, 4]), Mask(), 1.0)


def test_layers_that_choose_in_the_first_step_are_planned_for_it(wrappers: list[Wrapper]) -> None:
    attention = ChosenAttention("flashinferFa3", CPU, HOPPER)
    q, k, v = torch.randn(4, 3, 4, 64).bfloat16().unbind(1)
    for starts in ([0, 3, 4], [0, 1, 4]):
        attention.plan_ahead(torch.tensor(starts, dtype=torch.int32))
        for mask in (Mask(), Mask(causal=True)):
            attention(q, k, v, static(starts), mask, 1.0)
    planned = [[call["qo_indptr"].tolist() for call in wrapper.plans] for wrapper in wrappers if wrapper.in_graph]
    assert planned == [[[0, 3, 4], [0, 1, 4]]] * 2


def test_batches_that_layers_cannot_attend_over_static_buffers_are_known_beforehand(
    flash: FlashAttention, wrappers: list[Wrapper]
) -> None:
    q, k, v = torch.randn(4, 3, 4, 64).bfloat16().unbind(1)
    for name, masks, expected in (
        ("flashattention4", [Mask()], True),
        ("flashattention4", [Mask(), Mask(window=(2, 2))], False),
        ("flashinferFa2", [Mask()], False),
    ):
        attention = ChosenAttention(name, CPU, HOPPER)
        attention.plan_ahead(torch.tensor([0, 3, 4], dtype=torch.int32))
        for mask in masks:
            attention(q, k, v, static([0, 3, 4]), mask, 1.0)
        assert attention.suits(partly=False)
        assert attention.suits(partly=True) == expected


def test_a_compiler_is_found_in_the_path_and_in_the_toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert not has_compiler()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvcc").write_text("")
    assert has_compiler()
