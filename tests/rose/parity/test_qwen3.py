"""Qwen3 against `Qwen3Model`; pplx-embed against the same with every token seen by every other."""

from pathlib import Path
from typing import Any

import pytest
import torch
from paritykit.config import respell
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, engine_vectors, parity, reference_states
from paritykit.texts import texts
from transformers import Qwen3Config, Qwen3Model
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError, StepError
from tulip_rose.rose.options import EngineOptions

VOCABULARY = 90
LENGTHS = [1, 2, 3, 9, 10, 15, 16, 17, 33, 64, 65, 130, 256, 7, 7, 7]
CONFIG: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 256,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
    "pad_token_id": 0,
}
WINDOWS = {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 1}


class BothSides(Qwen3Model):
    """The published model code of pplx-embed: attention is Qwen3's, without the causal mask."""

    def forward(self, input_ids: torch.Tensor) -> Any:
        length = input_ids.shape[1]
        return super().forward(input_ids, attention_mask={"full_attention": torch.zeros(1, 1, length, length)})


def made(folder: Path, kind: type[Qwen3Model] = Qwen3Model, **changes: Any) -> Qwen3Model:
    model = random_model(kind, Qwen3Config(**{**CONFIG, **changes}))
    save(model, folder, "mean")
    if kind is BothSides:
        respell(folder, architectures=["PPLXQwen3Model"], model_type="bidirectional_pplx_qwen3")
    return model


def load(folder: Path, dtype: str = "float32") -> Engine:
    return Engine.load(folder, EngineOptions(device="cpu", threads=1, dtype=dtype))


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize("kind", [Qwen3Model, BothSides], ids=["causal", "both sides"])
@pytest.mark.parametrize(
    "changes",
    [{}, {"head_dim": 16, "attention_bias": True}, {"head_dim": 24, "num_key_value_heads": 1}],
    ids=["plain", "biases", "heads of 24"],
)
def test_each_token_of_a_mixed_batch_is_that_of_the_reference(
    tmp_path: Path, kind: type[Qwen3Model], changes: dict[str, Any]
) -> None:
    model = made(tmp_path, kind, **changes)
    inputs = texts(LENGTHS, VOCABULARY)
    found = parity(engine_states(load(tmp_path), inputs), reference_states(model, inputs))
    assert found.cosine >= 0.99999
    assert found.error <= 1e-4


@pytest.mark.usefixtures("layers")
def test_layers_with_a_window_see_no_further_back(tmp_path: Path) -> None:
    model = made(tmp_path, **WINDOWS)
    inputs = texts(LENGTHS, VOCABULARY)
    expected = reference_states(model, inputs)
    assert parity(engine_states(load(tmp_path), inputs), expected).error <= 1e-4
    respell(tmp_path, ("layer_types",))
    assert parity(engine_states(load(tmp_path), inputs), expected).error <= 1e-4
    respell(tmp_path, use_sliding_window=False)
    assert parity(engine_states(load(tmp_path), inputs), expected).cosine < 0.9


def test_a_switch_of_the_plain_model_shows_both_sides(tmp_path: Path) -> None:
    model = made(tmp_path, is_causal=False)
    inputs = texts(LENGTHS, VOCABULARY)
    assert parity(engine_states(load(tmp_path), inputs), reference_states(model, inputs)).error <= 1e-4


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize("kind", [Qwen3Model, BothSides], ids=["causal", "both sides"])
def test_vectors_in_bfloat16_are_those_of_the_reference(tmp_path: Path, kind: type[Qwen3Model]) -> None:
    model = made(tmp_path, kind)
    inputs = texts(LENGTHS[1:], VOCABULARY)
    expected = [states.mean(0, keepdims=True) for states in reference_states(model, inputs)]
    assert parity(engine_vectors(load(tmp_path, "bfloat16"), inputs), expected).cosine >= 0.999


def test_the_older_spelling_of_the_config_is_the_same_model(tmp_path: Path) -> None:
    made(tmp_path)
    inputs = texts(LENGTHS, VOCABULARY)
    expected = engine_states(load(tmp_path), inputs)
    respell(tmp_path, ("rope_parameters", "layer_types", "dtype"), rope_theta=1e6, rope_scaling=None, torch_dtype="f")
    assert parity(engine_states(load(tmp_path), inputs), expected).error == 0.0
    respell(tmp_path, rope_theta=1e4)
    assert parity(engine_states(load(tmp_path), inputs), expected).cosine < 0.99


@pytest.mark.parametrize("architecture", ["PPLXQwen3Model", "PPLXQwen3ContextualModel"])
def test_a_config_that_contradicts_its_class_is_refused(tmp_path: Path, architecture: str) -> None:
    made(tmp_path, BothSides)
    respell(tmp_path, architectures=[architecture], use_bidirectional_attention=False)
    with pytest.raises(LoadError, match="use_bidirectional_attention False is not supported; known are True"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rope_scaling": {"rope_type": "longrope", "factor": 4.0}}, "rope_type 'longrope' is not supported"),
        ({"rope_parameters": {"rope_theta": 0}}, "rope_theta is 0, a number above 0"),
        ({"rope_parameters": [1]}, r"rope_parameters is \[1\], an object"),
        ({"num_key_value_heads": 3}, "num_key_value_heads 3 does not divide num_attention_heads 4"),
        ({"head_dim": 33}, "head_dim 33 is odd"),
        ({"layer_types": ["full_attention"]}, "layer_types is not a list of 3"),
        ({"layer_types": ["sliding_attention"] * 3}, "sliding_attention go with use_sliding_window and a causal"),
        ({**WINDOWS, "layer_types": None, "is_causal": False}, "sliding_attention go with use_sliding_window and"),
        ({"use_bidirectional_attention": True}, "use_bidirectional_attention True is not supported"),
        ({"hidden_act": "gelu"}, "hidden_act 'gelu' is not supported; known are 'silu'"),
        ({"num_attention_heads": 2}, r"tensor layers.0.self_attn.q_proj.weight has shape \[128, 64\]"),
    ],
)
def test_what_would_be_computed_otherwise_stops_the_load(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    made(tmp_path)
    respell(tmp_path, ("rope_parameters",), **changes)
    with pytest.raises(LoadError, match=told):
        load(tmp_path)


@pytest.mark.usefixtures("layers")
def test_a_token_that_is_not_in_the_table_fails_its_step(tmp_path: Path) -> None:
    made(tmp_path)
    engine = load(tmp_path)
    with pytest.raises(StepError, match="IndexError"):
        engine_states(engine, texts([4], VOCABULARY + 1, first=VOCABULARY))
