"""ModernBERT against `ModernBertModel`."""

from pathlib import Path
from typing import Any

import pytest
from paritykit.config import respell
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, engine_vectors, parity, reference_states
from paritykit.texts import texts
from transformers import ModernBertConfig, ModernBertModel
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
    "max_position_embeddings": 256,
    "local_attention": 10,
    **dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id", "pad_token_id"), 0),
}
BIASES = dict.fromkeys(("attention_bias", "mlp_bias", "norm_bias"), True)


def made(folder: Path, **changes: Any) -> ModernBertModel:
    model = random_model(ModernBertModel, ModernBertConfig(**{**CONFIG, **changes}))
    save(model, folder)
    return model


def load(folder: Path, dtype: str = "float32") -> Engine:
    return Engine.load(folder, EngineOptions(device="cpu", threads=1, dtype=dtype))


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_attention_heads": 2, "local_attention": 7, **BIASES},
        {"num_attention_heads": 8, "hidden_activation": "silu"},
        {"local_attention": 128, "max_position_embeddings": 512},
    ],
    ids=["plain", "biases and an odd window", "small heads", "wide window"],
)
def test_each_token_of_a_mixed_batch_is_that_of_the_reference(tmp_path: Path, changes: dict[str, Any]) -> None:
    model = made(tmp_path, **changes)
    inputs = texts(LENGTHS, VOCABULARY)
    found = parity(engine_states(load(tmp_path), inputs), reference_states(model, inputs))
    assert found.cosine >= 0.99999
    assert found.error <= 1e-4


@pytest.mark.usefixtures("layers")
def test_vectors_in_bfloat16_are_those_of_the_reference(tmp_path: Path) -> None:
    model = made(tmp_path)
    inputs = texts(LENGTHS[1:], VOCABULARY)
    expected = [states.mean(0, keepdims=True) for states in reference_states(model, inputs)]
    assert parity(engine_vectors(load(tmp_path, "bfloat16"), inputs), expected).cosine >= 0.999


def test_the_mean_of_8192_tokens_in_bfloat16_is_that_in_float32(tmp_path: Path) -> None:
    small = {"hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 2, "local_attention": 128}
    made(tmp_path, **small, max_position_embeddings=8192)
    inputs = texts([8192], VOCABULARY)
    expected = engine_vectors(load(tmp_path), inputs)
    assert parity(engine_vectors(load(tmp_path, "bfloat16"), inputs), expected).cosine >= 0.999


def test_the_older_spelling_of_the_config_is_the_same_model(tmp_path: Path) -> None:
    made(tmp_path)
    inputs = texts(LENGTHS, VOCABULARY)
    expected = engine_states(load(tmp_path), inputs)
    old = {"global_rope_theta": 160_000.0, "local_rope_theta": 10_000.0}
    respell(tmp_path, ("rope_parameters", "layer_types"), **old, global_attn_every_n_layers=3)
    assert parity(engine_states(load(tmp_path), inputs), expected).error == 0.0
    respell(tmp_path, global_rope_theta=1_000.0)
    assert parity(engine_states(load(tmp_path), inputs), expected).cosine < 0.99
    respell(tmp_path, **old, global_attn_every_n_layers=2)
    assert parity(engine_states(load(tmp_path), inputs), expected).cosine < 0.99


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"hidden_activation": "tanh"}, "hidden_activation 'tanh' is not supported"),
        ({"num_attention_heads": 5}, "num_attention_heads 5 does not make even heads of 64"),
        ({"mlp_bias": True}, "tensor layers.0.mlp.Wi.bias is missing"),
        ({"num_hidden_layers": 3, "layer_types": None}, "tensor layers.3.* is not part of this architecture"),
    ],
)
def test_what_would_be_computed_otherwise_stops_the_load(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    made(tmp_path)
    respell(tmp_path, **changes)
    with pytest.raises(LoadError, match=told):
        load(tmp_path)
