"""Rotary positions that are scaled, against transformers: each law in each family that can have it."""

from pathlib import Path
from typing import Any

import pytest
from paritykit.config import respell
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, parity, reference_states
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
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.options import EngineOptions

VOCABULARY = 90
LENGTHS = [1, 2, 15, 16, 17, 33, 64, 65, 130, 256, 7, 7]
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
}
LINEAR = {"rope_type": "linear", "factor": 4.0}
DYNAMIC = {"rope_type": "dynamic", "factor": 4.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
LAWS: dict[str, dict[str, Any]] = {
    "linear": LINEAR,
    "dynamic": DYNAMIC,
    "llama3": LLAMA3,
    "yarn": YARN,
    "yarn of the longest length": {"rope_type": "yarn", "factor": 2.0},
    "yarn with other ends": {**YARN, "beta_fast": 8, "beta_slow": 2},
    "yarn with an amplitude": {**YARN, "attention_factor": 1.3},
    "yarn with weights": {**YARN, "mscale": 1.0, "mscale_all_dim": 0.5},
    "yarn that shrinks nothing": {**YARN, "factor": 1.0},
}


def qwen3(folder: Path, rope: dict[str, Any], **changes: Any) -> PreTrainedModel:
    own = {"num_key_value_heads": 1, "head_dim": 32, "rope_parameters": {"rope_theta": 10_000.0, **rope}}
    return _made(Qwen3Model, Qwen3Config(**{**SIZES, **own, **changes}), folder)


def _made(kind: Any, config: Any, folder: Path) -> PreTrainedModel:
    model = random_model(kind, config)
    save(model, folder)
    return model


def load(folder: Path) -> Engine:
    return Engine.load(folder, EngineOptions(device="cpu", threads=1))


def check(model: PreTrainedModel, folder: Path) -> None:
    inputs = texts(LENGTHS, VOCABULARY)
    found = parity(engine_states(load(folder), inputs), reference_states(model, inputs))
    assert found.cosine >= 0.99999
    assert found.error <= 1e-4


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize("law", LAWS)
def test_each_law_turns_as_in_the_reference(tmp_path: Path, law: str) -> None:
    check(qwen3(tmp_path, LAWS[law]), tmp_path)


@pytest.mark.parametrize("law", [law for law in LAWS if law not in ("dynamic", "yarn that shrinks nothing")])
def test_each_law_makes_other_vectors_than_none(tmp_path: Path, law: str) -> None:
    model = qwen3(tmp_path, LAWS[law])
    respell(tmp_path, rope_parameters={"rope_type": "default", "rope_theta": 10_000.0})
    inputs = texts(LENGTHS, VOCABULARY)
    assert parity(engine_states(load(tmp_path), inputs), reference_states(model, inputs)).cosine < 0.99


def test_the_older_spelling_is_the_same_model(tmp_path: Path) -> None:
    model = qwen3(tmp_path, YARN)
    old = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
    respell(tmp_path, ("rope_parameters",), rope_theta=10_000.0, rope_scaling=old)
    check(model, tmp_path)


def test_a_first_length_beside_the_scaling_comes_first(tmp_path: Path) -> None:
    model = qwen3(tmp_path, YARN, original_max_position_embeddings=64)
    rope = {"rope_theta": 10_000.0, **YARN}
    respell(tmp_path, rope_parameters={**rope, "original_max_position_embeddings": 32})
    check(model, tmp_path)


@pytest.mark.parametrize("law", [LINEAR, YARN])
def test_layers_that_see_all_are_scaled_alone_in_gemma3(tmp_path: Path, law: dict[str, Any]) -> None:
    own = {"num_key_value_heads": 1, "head_dim": 32, "sliding_window": 8, "query_pre_attn_scalar": 32}
    kinds = {"layer_types": ["sliding_attention", "full_attention"]}
    rope = {
        "full_attention": {"rope_theta": 1e6, **law},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    }
    model = _made(Gemma3TextModel, Gemma3TextConfig(**SIZES, **own, **kinds, rope_parameters=rope), tmp_path)
    check(model, tmp_path)
    respell(tmp_path, ("rope_parameters",), rope_theta=1e6, rope_local_base_freq=1e4, rope_scaling=law)
    check(model, tmp_path)


def test_kinds_of_layers_are_scaled_each_by_its_own_in_modernbert(tmp_path: Path) -> None:
    ids = dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id"), 0)
    rope = {"full_attention": {"rope_theta": 16e4, **YARN}, "sliding_attention": {"rope_theta": 1e4, **LINEAR}}
    config = ModernBertConfig(**SIZES, **ids, local_attention=10, global_attn_every_n_layers=2, rope_parameters=rope)
    check(_made(ModernBertModel, config, tmp_path), tmp_path)


def test_positions_are_scaled_in_nomic_bert(tmp_path: Path) -> None:
    config = NomicBertConfig(**SIZES, rope_parameters={"rope_theta": 1e3, **LLAMA3})
    check(_made(NomicBertModel, config, tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("rope", "told"),
    [
        ({"rope_type": "longrope", "factor": 4.0}, "rope_type 'longrope' is not supported; known are 'default', 'dyn"),
        ({"rope_type": "linear"}, "rope_parameters.factor is None, a number above 0"),
        ({**LINEAR, "factor": 0.5}, "rope_parameters.factor is 0.5, at least 1"),
        ({**LINEAR, "beta_fast": 32}, "rope_parameters.beta_fast is not known of rope_type 'linear'"),
        ({**DYNAMIC, "alpha": 1000}, "rope_parameters.alpha is not known of rope_type 'dynamic'"),
        ({**LLAMA3, "high_freq_factor": 1.0}, "high_freq_factor 1.0 is not above low_freq_factor, 1.0"),
        ({**YARN, "truncate": False}, "rope_parameters.truncate False is not supported"),
        ({**YARN, "attention_factor": -1.0}, "rope_parameters.attention_factor is -1.0, a number above 0"),
        ({"rope_type": "default", "partial_rotary_factor": 0.5}, "partial_rotary_factor 0.5 is not supported"),
    ],
)
def test_what_is_not_understood_of_a_scaling_stops_the_load(tmp_path: Path, rope: dict[str, Any], told: str) -> None:
    qwen3(tmp_path, {})
    respell(tmp_path, rope_parameters=rope)
    with pytest.raises(LoadError, match=told):
        load(tmp_path)


def test_two_spellings_at_once_stop_the_load(tmp_path: Path) -> None:
    qwen3(tmp_path, {})
    respell(tmp_path, rope_scaling={"type": "linear", "factor": 2.0})
    with pytest.raises(LoadError, match="rope_scaling and rope_parameters are both there"):
        load(tmp_path)
