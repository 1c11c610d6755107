"""Rotary models as they are published: their widths, in few layers; and within classes that put a head on them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from paritykit.config import respell
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, engine_vectors, parity, reference_states
from paritykit.texts import texts
from transformers import (
    Gemma3TextConfig,
    Gemma3TextModel,
    ModernBertConfig,
    ModernBertForMaskedLM,
    ModernBertModel,
    NomicBertConfig,
    NomicBertModel,
    PreTrainedModel,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3Model,
)
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions

VOCABULARY = 90
TWO = {"vocab_size": VOCABULARY, "num_hidden_layers": 2}
NO_IDS = dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id", "pad_token_id"), 0)
HEADS = {"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128}
QWEN3_EMBEDDING = Qwen3Config(
    **TWO, **HEADS, hidden_size=1024, intermediate_size=3072, max_position_embeddings=32768, rope_theta=1_000_000
)
EMBEDDING_GEMMA = Gemma3TextConfig(
    **TWO,
    num_attention_heads=3,
    num_key_value_heads=1,
    head_dim=256,
    hidden_size=768,
    intermediate_size=1152,
    max_position_embeddings=2048,
    sliding_window=512,
    sliding_window_pattern=2,
    use_bidirectional_attention=True,
)
SIZES: dict[str, tuple[Callable[[Any], PreTrainedModel], Any]] = {
    "Qwen3-Embedding-0.6B": (Qwen3Model, QWEN3_EMBEDDING),
    "embeddinggemma-300m": (Gemma3TextModel, EMBEDDING_GEMMA),
    "gte-modernbert-base": (ModernBertModel, ModernBertConfig(**TWO, **NO_IDS)),
    "nomic-embed-text-v1.5": (NomicBertModel, NomicBertConfig(**TWO, max_position_embeddings=8192)),
}
SPREAD = 0.06
"""Sums of a thousand terms are as large as those of sixty with the usual one."""


def load(folder: Path, dtype: str = "float32") -> Engine:
    return Engine.load(folder, EngineOptions(device="cpu", threads=1, dtype=dtype))


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.usefixtures("layers")
def test_models_of_published_widths_are_the_reference_beyond_their_windows(tmp_path: Path, name: str) -> None:
    kind, config = SIZES[name]
    model = random_model(kind, config, spread=SPREAD)
    save(model, tmp_path)
    inputs = texts([1, 17, 300], VOCABULARY)
    expected = reference_states(model, inputs)
    found = parity(engine_states(load(tmp_path), inputs), expected)
    assert found.cosine >= 0.99999
    assert found.error <= 1e-3
    means = [states.mean(0, keepdims=True) for states in expected]
    assert parity(engine_vectors(load(tmp_path, "bfloat16"), inputs), means).cosine >= 0.999


SMALL = {
    **TWO,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
}
QWEN3 = {**SMALL, "num_key_value_heads": 1, "head_dim": 16}


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(
    ("kind", "make", "sizes"),
    [(Qwen3ForCausalLM, Qwen3Config, QWEN3), (ModernBertForMaskedLM, ModernBertConfig, {**SMALL, **NO_IDS})],
    ids=["Qwen3ForCausalLM", "ModernBertForMaskedLM"],
)
def test_states_are_those_of_the_base_model_within(
    tmp_path: Path,
    kind: Callable[[Any], PreTrainedModel],
    make: Callable[..., Any],
    sizes: dict[str, Any],
    *,
    tied: bool,
) -> None:
    model = random_model(kind, make(**sizes, tie_word_embeddings=tied))
    save(model, tmp_path)
    inputs = texts([1, 9, 30], VOCABULARY)
    expected = reference_states(model.base_model, inputs)
    assert parity(engine_states(load(tmp_path), inputs), expected).error <= 1e-4


def test_a_base_model_may_have_the_name_of_the_class_around_it(tmp_path: Path) -> None:
    model = random_model(Qwen3Model, Qwen3Config(**QWEN3))
    save(model, tmp_path, "lasttoken")
    respell(tmp_path, architectures=["Qwen3ForCausalLM"])
    inputs = texts([1, 9, 30], VOCABULARY)
    expected = [states[-1:] for states in reference_states(model, inputs)]
    assert parity(engine_vectors(load(tmp_path), inputs), expected).error <= 1e-4
