"""Gemma3's text model against `Gemma3TextModel`: seen from both sides as in EmbeddingGemma, and causal."""

from pathlib import Path
from typing import Any

import pytest
from paritykit.config import respell
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, engine_vectors, parity, reference_states
from paritykit.texts import texts
from transformers import Gemma3TextConfig, Gemma3TextModel
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.options import EngineOptions

VOCABULARY = 90
LENGTHS = [1, 2, 4, 5, 6, 7, 10, 11, 15, 16, 17, 33, 64, 65, 130, 256, 7, 7]
CONFIG: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "max_position_embeddings": 256,
    "query_pre_attn_scalar": 24,
    "sliding_window": 10,
    "sliding_window_pattern": 3,
    "use_bidirectional_attention": True,
}


def made(folder: Path, **changes: Any) -> Gemma3TextModel:
    model = random_model(Gemma3TextModel, Gemma3TextConfig(**{**CONFIG, **changes}))
    save(model, folder)
    return model


def load(folder: Path, dtype: str = "float32") -> Engine:
    return Engine.load(folder, EngineOptions(device="cpu", threads=1, dtype=dtype))


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"sliding_window": 9, "head_dim": 16, "attention_bias": True},
        {"sliding_window": 64, "max_position_embeddings": 512},
        {"use_bidirectional_attention": False, "head_dim": 24, "num_key_value_heads": 2},
    ],
    ids=["both sides", "odd window and biases", "wide window", "causal"],
)
def test_each_token_of_a_mixed_batch_is_that_of_the_reference(tmp_path: Path, changes: dict[str, Any]) -> None:
    model = made(tmp_path, **changes)
    inputs = texts(LENGTHS, VOCABULARY)
    found = parity(engine_states(load(tmp_path), inputs), reference_states(model, inputs))
    assert found.cosine >= 0.99999
    assert found.error <= 1e-4


@pytest.mark.usefixtures("layers")
def test_vectors_in_bfloat16_are_those_of_the_reference(tmp_path: Path) -> None:
    model = made(tmp_path, num_hidden_layers=3)
    inputs = texts(LENGTHS[1:], VOCABULARY)
    expected = [states.mean(0, keepdims=True) for states in reference_states(model, inputs)]
    assert parity(engine_vectors(load(tmp_path, "bfloat16"), inputs), expected).cosine >= 0.999


@pytest.mark.parametrize("pattern", ["sliding_window_pattern", "_sliding_window_pattern"])
def test_the_older_spelling_of_the_config_is_the_same_model(tmp_path: Path, pattern: str) -> None:
    made(tmp_path, rope_parameters={"full_attention": {"rope_theta": 5e5}, "sliding_attention": {"rope_theta": 2e4}})
    inputs = texts(LENGTHS, VOCABULARY)
    expected = engine_states(load(tmp_path), inputs)
    new = ("rope_parameters", "layer_types", "_sliding_window_pattern")
    respell(tmp_path, new, rope_theta=5e5, rope_local_base_freq=2e4, **{pattern: 3})
    assert parity(engine_states(load(tmp_path), inputs), expected).error == 0.0
    respell(tmp_path, rope_theta=2e4, rope_local_base_freq=5e5)
    assert parity(engine_states(load(tmp_path), inputs), expected).cosine < 0.99


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"attn_logit_softcapping": 50.0}, "attn_logit_softcapping 50.0 is not supported"),
        ({"hidden_activation": "relu"}, "hidden_activation 'relu' is not supported"),
        ({"rope_parameters": {"rope_theta": 1e6}}, "rope_parameters.*_attention is None, an object was expected"),
        ({"layer_types": ["chunked_attention"] * 4}, "layer_types is not a list of 4 of full_attention and sliding"),
        ({"is_causal": False}, "is_causal False is not supported"),
        ({"sliding_window": None}, "sliding_window is None, a whole number above 0"),
    ],
)
def test_what_would_be_computed_otherwise_stops_the_load(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    made(tmp_path)
    respell(tmp_path, **changes)
    with pytest.raises(LoadError, match=told):
        load(tmp_path)
