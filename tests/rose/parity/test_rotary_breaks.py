"""Rotary models broken on purpose: the comparison with the reference sees each break."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, parity, reference_states
from paritykit.rotary_breaks import BREAKS
from paritykit.texts import texts
from transformers import (
    Gemma3TextConfig,
    Gemma3TextModel,
    ModernBertConfig,
    ModernBertModel,
    NomicBertConfig,
    NomicBertModel,
    PreTrainedModel,
    Qwen3Config,
    Qwen3Model,
)
from tulip_rose.rose import device
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions

LENGTHS = [1, 2, 5, 6, 7, 33, 128]
SIZES: dict[str, Any] = {
    "vocab_size": 90,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
}
NO_IDS = dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id", "pad_token_id"), 0)
SHARED: dict[str, Any] = {"num_key_value_heads": 2, "head_dim": 16}
WINDOWS: dict[str, Any] = {"sliding_window": 10, "sliding_window_pattern": 3, "use_bidirectional_attention": True}
FAMILIES: dict[str, Callable[[], PreTrainedModel]] = {
    "gemma3": lambda: random_model(Gemma3TextModel, Gemma3TextConfig(**SIZES, **SHARED, **WINDOWS)),
    "modernbert": lambda: random_model(ModernBertModel, ModernBertConfig(**SIZES, **NO_IDS, local_attention=10)),
    "nomic": lambda: random_model(NomicBertModel, NomicBertConfig(**SIZES)),
    "qwen3": lambda: random_model(Qwen3Model, Qwen3Config(**SIZES, **SHARED)),
}
PAIRS = [(name, family) for name, (families, _) in BREAKS.items() for family in families]


@pytest.fixture
def equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], bool]:
    """Whether an engine of a family is the reference, as the tests of the families ask it."""
    monkeypatch.setattr(device, "serves", lambda dtype: False)

    def ask(family: str) -> bool:
        model = FAMILIES[family]()
        inputs = texts(LENGTHS, 90)
        engine = Engine.load(save(model, tmp_path / family), EngineOptions(device="cpu", threads=1))
        found = parity(engine_states(engine, inputs), reference_states(model, inputs))
        return found.cosine >= 0.99999 and found.error <= 1e-4

    return ask


@pytest.mark.parametrize("family", FAMILIES)
def test_unbroken_it_is_the_reference(equal: Callable[[str], bool], family: str) -> None:
    assert equal(family)


@pytest.mark.parametrize(("name", "family"), PAIRS)
def test_broken_it_is_not(
    equal: Callable[[str], bool], monkeypatch: pytest.MonkeyPatch, name: str, family: str
) -> None:
    BREAKS[name][1](monkeypatch)
    assert not equal(family)
