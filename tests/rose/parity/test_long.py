"""Texts as long as the published models of each rotary family take, in small widths: far positions, whole windows."""

from pathlib import Path
from typing import Any

import pytest
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, engine_vectors, parity, reference_states
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
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions

VOCABULARY = 90
SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
GROUPED: dict[str, Any] = {**SMALL, "num_key_value_heads": 1, "head_dim": 16}
IDS: dict[str, int] = dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id", "pad_token_id"), 0)
ROPE = {"rope_type": "default", "rope_theta": 1_000_000.0}


def qwen3() -> PreTrainedModel:
    config = Qwen3Config(**GROUPED, max_position_embeddings=32_768, rope_parameters=ROPE, pad_token_id=0)
    return random_model(Qwen3Model, config)


def modernbert() -> PreTrainedModel:
    config = ModernBertConfig(**SMALL, **IDS, max_position_embeddings=8192, local_attention=128)
    return random_model(ModernBertModel, config)


def gemma3() -> PreTrainedModel:
    config = Gemma3TextConfig(
        **GROUPED,
        max_position_embeddings=2048,
        query_pre_attn_scalar=16,
        sliding_window=512,
        sliding_window_pattern=2,
        use_bidirectional_attention=True,
    )
    return random_model(Gemma3TextModel, config)


def nomic() -> PreTrainedModel:
    return random_model(NomicBertModel, NomicBertConfig(**SMALL, max_position_embeddings=8192))


FAMILIES = {
    "qwen3": (qwen3, 32_768),
    "modernbert": (modernbert, 8192),
    "gemma3": (gemma3, 2048),
    "nomic": (nomic, 8192),
}


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize("family", FAMILIES)
def test_each_token_of_the_longest_texts_is_that_of_the_reference(tmp_path: Path, family: str) -> None:
    make, longest = FAMILIES[family]
    model = make()
    save(model, tmp_path, "mean")
    inputs = texts([longest, 700, 1, longest // 3], VOCABULARY)
    expected = reference_states(model, inputs)
    found = parity(engine_states(load(tmp_path, "float32"), inputs), expected)
    assert found.cosine >= 0.99999
    assert found.error <= 1e-4
    means = [states.mean(0, keepdims=True) for states in expected]
    assert parity(engine_vectors(load(tmp_path, "bfloat16"), inputs), means).cosine >= 0.999


def load(folder: Path, dtype: str) -> Engine:
    return Engine.load(folder, EngineOptions(device="cpu", threads=1, dtype=dtype))
