"""NomicBERT against `NomicBertModel`, whose files have the names of the published models."""

from pathlib import Path
from typing import Any

import pytest
import torch
from paritykit.config import respell
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, engine_vectors, parity, reference_states
from paritykit.texts import texts
from safetensors.torch import load_file, save_file
from transformers import NomicBertConfig, NomicBertModel
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError, StepError
from tulip_rose.rose.options import EngineOptions

VOCABULARY = 90
LENGTHS = [1, 2, 3, 15, 16, 17, 33, 64, 65, 130, 256, 7, 7]
CONFIG: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 256,
}
PUBLISHED = {
    "activation_function": "swiglu",
    "causal": False,
    "layer_norm_epsilon": 1e-12,
    "max_trained_positions": 128,
    "mlp_fc1_bias": False,
    "mlp_fc2_bias": False,
    "n_embd": 64,
    "n_head": 4,
    "n_inner": 96,
    "n_layer": 3,
    "n_positions": 256,
    "parallel_block": False,
    "prenorm": False,
    "qkv_proj_bias": False,
    "rotary_emb_base": 1000,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "rotary_emb_scale_base": None,
    "rotary_scaling_factor": None,
    "scale_attn_weights": True,
    "use_rms_norm": False,
}


def made(folder: Path, **changes: Any) -> NomicBertModel:
    model = random_model(NomicBertModel, NomicBertConfig(**{**CONFIG, **changes}))
    save(model, folder)
    return model


def load(folder: Path, dtype: str = "float32") -> Engine:
    return Engine.load(folder, EngineOptions(device="cpu", threads=1, dtype=dtype))


def as_published(folder: Path, **changes: Any) -> None:
    new = [*CONFIG, "hidden_act", "head_dim", "layer_norm_eps", "rope_parameters"]
    respell(folder, tuple(key for key in new if key != "vocab_size"), **{**PUBLISHED, **changes})


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize("paired", [False, True], ids=["one type", "two types"])
@pytest.mark.parametrize("heads", [4, 8], ids=["heads of 16", "heads of 8"])
def test_each_token_of_a_mixed_batch_is_that_of_the_reference(tmp_path: Path, heads: int, *, paired: bool) -> None:
    model = made(tmp_path, num_attention_heads=heads)
    inputs = texts(LENGTHS, VOCABULARY, paired=paired)
    found = parity(engine_states(load(tmp_path), inputs), reference_states(model, inputs))
    assert found.cosine >= 0.99999
    assert found.error <= 1e-4


@pytest.mark.usefixtures("layers")
def test_vectors_in_bfloat16_are_those_of_the_reference(tmp_path: Path) -> None:
    model = made(tmp_path)
    inputs = texts(LENGTHS[1:], VOCABULARY, paired=True)
    expected = [states.mean(0, keepdims=True) for states in reference_states(model, inputs)]
    assert parity(engine_vectors(load(tmp_path, "bfloat16"), inputs), expected).cosine >= 0.999


def test_the_spelling_of_the_published_config_is_the_same_model(tmp_path: Path) -> None:
    made(tmp_path)
    inputs = texts(LENGTHS, VOCABULARY)
    expected = engine_states(load(tmp_path), inputs)
    as_published(tmp_path)
    engine = load(tmp_path)
    assert engine.card.max_input_tokens == 256
    assert parity(engine_states(engine, inputs), expected).error == 0.0
    as_published(tmp_path, rotary_emb_base=10_000)
    assert parity(engine_states(load(tmp_path), inputs), expected).cosine < 0.99


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"prenorm": True}, "prenorm True is not supported"),
        ({"rotary_scaling_factor": 2}, "rotary_scaling_factor 2 is not supported"),
        ({"rotary_emb_fraction": 0.5}, "rotary_emb_fraction 0.5 is not supported"),
        ({"activation_function": "gelu"}, "activation_function 'gelu' is not supported; known are 'swiglu'"),
        ({"num_experts": 8}, "num_experts 8 is not supported"),
        ({"n_head": 5}, "num_attention_heads 5 does not make even heads of 64"),
    ],
)
def test_what_would_be_computed_otherwise_stops_the_load(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    made(tmp_path)
    as_published(tmp_path, **changes)
    with pytest.raises(LoadError, match=told):
        load(tmp_path)


def test_what_older_checkpoints_hold_of_the_positions_is_left_out(tmp_path: Path) -> None:
    made(tmp_path)
    inputs = texts(LENGTHS, VOCABULARY)
    expected = engine_states(load(tmp_path), inputs)
    path = tmp_path / "model.safetensors"
    save_file({**load_file(path), "encoder.layers.0.attn.rotary_emb.inv_freq": torch.ones(8)}, path)
    assert parity(engine_states(load(tmp_path), inputs), expected).error == 0.0


@pytest.mark.usefixtures("layers")
def test_a_text_longer_than_the_positions_fails_its_step(tmp_path: Path) -> None:
    made(tmp_path)
    engine = load(tmp_path)
    with pytest.raises(StepError, match="IndexError"):
        engine_states(engine, texts([257], VOCABULARY))
