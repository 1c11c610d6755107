"""What only BERT has: two types of tokens, and what may lie around the base model."""

from pathlib import Path

import numpy as np
import pytest
import torch
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, parity, reference_states
from paritykit.texts import Text, texts
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel, PreTrainedModel
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError, StepError
from tulip_rose.rose.options import EngineOptions

CONFIG = BertConfig(
    vocab_size=60,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=48,
    max_position_embeddings=40,
)
OPTIONS = EngineOptions(device="cpu", threads=1)


@pytest.fixture
def model() -> PreTrainedModel:
    return random_model(BertModel, CONFIG)


@pytest.mark.usefixtures("layers")
def test_texts_with_and_without_types_share_a_batch(tmp_path: Path, model: PreTrainedModel) -> None:
    engine = Engine.load(save(model, tmp_path / "model"), OPTIONS)
    inputs = [*texts([9, 40, 1], 60, paired=True), *texts([9, 40, 1], 60)]
    found = parity(engine_states(engine, inputs), reference_states(model, inputs))
    assert found.error <= 1e-4


@pytest.mark.usefixtures("layers")
def test_types_change_the_states(tmp_path: Path, model: PreTrainedModel) -> None:
    engine = Engine.load(save(model, tmp_path / "model"), OPTIONS)
    [pair], [plain] = texts([9], 60, paired=True), texts([9], 60)
    assert parity(engine_states(engine, [pair]), engine_states(engine, [plain])).cosine < 0.99


@pytest.mark.usefixtures("layers")
def test_a_type_that_the_model_does_not_have_fails_its_step_and_no_other(
    tmp_path: Path, model: PreTrainedModel
) -> None:
    engine = Engine.load(save(model, tmp_path / "model"), OPTIONS)
    [text] = texts([9], 60)
    with pytest.raises(StepError, match="IndexError"):
        engine_states(engine, [Text(text.ids, np.full(9, 2, dtype=np.uint8))])
    assert parity(engine_states(engine, [text]), reference_states(model, [text])).error <= 1e-4


def test_norms_of_old_checkpoints_are_called_gamma_and_beta(tmp_path: Path, model: PreTrainedModel) -> None:
    folder = save(model, tmp_path / "model")
    path = folder / "model.safetensors"
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    tensors = load_file(path)
    for name in [name for name in tensors if "LayerNorm" in name]:
        new = next(key for key in old if name.endswith(key))
        tensors[name.replace(new, old[new])] = tensors.pop(name)
    save_file(tensors, path)
    inputs = texts([9, 40], 60)
    assert parity(engine_states(Engine.load(folder, OPTIONS), inputs), reference_states(model, inputs)).error <= 1e-4


def test_a_table_of_types_that_the_config_does_not_tell_is_refused(tmp_path: Path, model: PreTrainedModel) -> None:
    folder = save(model, tmp_path / "model")
    path = folder / "model.safetensors"
    name = "embeddings.token_type_embeddings.weight"
    save_file({**load_file(path), name: torch.zeros(3, 32)}, path)
    with pytest.raises(LoadError, match=rf"model.safetensors: tensor {name} has shape \[3, 32\], config.json asks for"):
        Engine.load(folder, OPTIONS)
