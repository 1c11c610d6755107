"""Base models within the checkpoints of classes that put a head on them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from paritykit.config import respell
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, parity, reference_states
from paritykit.texts import texts
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    CamembertConfig,
    CamembertForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    MPNetConfig,
    MPNetForMaskedLM,
    MPNetModel,
    PreTrainedModel,
    RobertaConfig,
    RobertaForMaskedLM,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.options import EngineOptions

SIZES = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 40,
}
DISTIL = {"vocab_size": 60, "dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 48, "max_position_embeddings": 40}
CLASSES: list[tuple[Callable[[Any], PreTrainedModel], Any]] = [
    (BertForMaskedLM, BertConfig(**SIZES)),
    (BertForPreTraining, BertConfig(**SIZES)),
    (RobertaForMaskedLM, RobertaConfig(**SIZES)),
    (XLMRobertaForMaskedLM, XLMRobertaConfig(**SIZES)),
    (CamembertForMaskedLM, CamembertConfig(**SIZES)),
    (MPNetForMaskedLM, MPNetConfig(**SIZES)),
    (DistilBertForMaskedLM, DistilBertConfig(**DISTIL)),
    (BertForMaskedLM, BertConfig(**SIZES, tie_word_embeddings=False)),
    (XLMRobertaForMaskedLM, XLMRobertaConfig(**SIZES, tie_word_embeddings=False)),
    (DistilBertForMaskedLM, DistilBertConfig(**DISTIL, tie_word_embeddings=False)),
]
OPTIONS = EngineOptions(device="cpu", threads=1)


@pytest.mark.parametrize(("kind", "config"), CLASSES, ids=lambda each: getattr(each, "__name__", ""))
def test_states_are_those_of_the_base_model_within(
    tmp_path: Path, kind: Callable[[Any], PreTrainedModel], config: Any
) -> None:
    model = random_model(kind, config)
    folder = save(model, tmp_path / "model")
    inputs = texts([1, 9, 30], 60)
    found = engine_states(Engine.load(folder, OPTIONS), inputs)
    assert parity(found, reference_states(model.base_model, inputs)).error <= 1e-4


def test_a_base_model_may_be_called_by_the_class_that_it_came_from(tmp_path: Path) -> None:
    model = random_model(MPNetModel, MPNetConfig(**SIZES))
    folder = save(model, tmp_path / "model")
    respell(folder, architectures=["MPNetForMaskedLM"])
    inputs = texts([1, 9, 30], 60)
    assert parity(engine_states(Engine.load(folder, OPTIONS), inputs), reference_states(model, inputs)).error <= 1e-4


def test_what_belongs_neither_to_the_head_nor_to_the_model_is_refused(tmp_path: Path) -> None:
    folder = save(random_model(BertForMaskedLM, BertConfig(**SIZES)), tmp_path / "model")
    path = folder / "model.safetensors"
    save_file({**load_file(path), "adapter.weight": torch.zeros(2)}, path)
    with pytest.raises(LoadError, match=r"model.safetensors: tensor adapter.weight is not part of this architecture"):
        Engine.load(folder, OPTIONS)
