"""Sequence classifiers, each against its class in transformers: raw logits, of pairs and of single texts."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from paritykit.folder import RANGE, random_model
from paritykit.measure import engine_vectors
from paritykit.scores import reference_logits, score_parity
from paritykit.texts import texts
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    CamembertConfig,
    CamembertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    Gemma3TextConfig,
    Gemma3TextForSequenceClassification,
    ModernBertConfig,
    ModernBertForSequenceClassification,
    MPNetConfig,
    MPNetForSequenceClassification,
    NomicBertConfig,
    NomicBertForSequenceClassification,
    PreTrainedModel,
    Qwen3Config,
    Qwen3ForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
)
from tulip_rose.rose.card import Task
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions

VOCABULARY, POSITIONS = 200, 256
LENGTHS = [1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 64, 64, 1, 200]
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "max_position_embeddings": POSITIONS,
}
COUNTED = {**SIZES, "max_position_embeddings": POSITIONS + 2}
DISTIL = {"dim": 64, "n_layers": 3, "n_heads": 4, "hidden_dim": 96, "max_position_embeddings": POSITIONS}
MODERN = {**SIZES, "local_attention": 10, **dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id"), 1)}
MODERN |= {"sep_token_id": 2, "pad_token_id": 0}
QWEN = {**SIZES, "num_key_value_heads": 2, "head_dim": 32, "pad_token_id": 0}
GEMMA = {**QWEN, "sliding_window": 16, "use_bidirectional_attention": True}


@dataclass(frozen=True, slots=True)
class Family:
    """A class of transformers and a configuration of it."""

    model: Callable[[Any], PreTrainedModel]
    config: Callable[..., Any]
    sizes: dict[str, Any]
    paired: bool = False


FAMILIES = {
    "BERT, pairs": Family(BertForSequenceClassification, BertConfig, SIZES, paired=True),
    "RoBERTa": Family(RobertaForSequenceClassification, RobertaConfig, {**COUNTED, "type_vocab_size": 1}),
    "XLM-R": Family(XLMRobertaForSequenceClassification, XLMRobertaConfig, {**COUNTED, "type_vocab_size": 1}),
    "CamemBERT": Family(CamembertForSequenceClassification, CamembertConfig, {**COUNTED, "type_vocab_size": 1}),
    "DistilBERT": Family(DistilBertForSequenceClassification, DistilBertConfig, {**DISTIL, "vocab_size": VOCABULARY}),
    "MPNet": Family(MPNetForSequenceClassification, MPNetConfig, COUNTED),
    "ModernBERT": Family(ModernBertForSequenceClassification, ModernBertConfig, MODERN),
    "ModernBERT, mean": Family(
        ModernBertForSequenceClassification,
        ModernBertConfig,
        {**MODERN, "classifier_pooling": "mean", "classifier_bias": True, "norm_bias": True},
    ),
    "ModernBERT, another activation": Family(
        ModernBertForSequenceClassification, ModernBertConfig, {**MODERN, "classifier_activation": "silu"}
    ),
    "NomicBERT, pairs": Family(NomicBertForSequenceClassification, NomicBertConfig, SIZES, paired=True),
    "Gemma3": Family(Gemma3TextForSequenceClassification, Gemma3TextConfig, GEMMA),
    "Qwen3": Family(Qwen3ForSequenceClassification, Qwen3Config, QWEN),
}


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES)
def family(request: pytest.FixtureRequest) -> Family:
    found: Family = request.param
    return found


def made(family: Family, folder: Path, labels: int, **changes: Any) -> PreTrainedModel:
    model = random_model(family.model, family.config(**{**family.sizes, **changes}, num_labels=labels), spread=RANGE)
    model.save_pretrained(folder)
    return model


def load(folder: Path, dtype: str = "float32") -> Engine:
    return Engine.load(folder, EngineOptions(device="cpu", threads=1, dtype=dtype))


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.usefixtures("layers")
def test_logits_of_a_mixed_batch_are_those_of_the_reference(tmp_path: Path, family: Family, labels: int) -> None:
    model = made(family, tmp_path, labels)
    inputs = texts(LENGTHS, VOCABULARY, paired=family.paired)
    found = score_parity(engine_vectors(load(tmp_path), inputs), reference_logits(model, inputs))
    assert found.correlation >= 0.99999
    assert found.error <= 1e-4


@pytest.mark.usefixtures("layers")
def test_logits_in_bfloat16_rank_as_those_of_the_reference_do(tmp_path: Path, family: Family) -> None:
    model = made(family, tmp_path, labels=1)
    inputs = texts(LENGTHS, VOCABULARY, paired=family.paired)
    found = score_parity(engine_vectors(load(tmp_path, "bfloat16"), inputs), reference_logits(model, inputs))
    assert found.correlation >= 0.999


def test_the_card_tells_that_the_model_scores_and_what_for(tmp_path: Path, family: Family) -> None:
    names = {0: "contradiction", 1: "entailment", 2: "neutral"}
    made(family, tmp_path, labels=3, id2label=names, label2id={name: index for index, name in names.items()})
    card = load(tmp_path).card
    assert card.task is Task.SCORE
    assert card.labels == tuple(names.values())
    assert (card.dimensions, card.allowed_dimensions, card.normalize) == (3, (), False)
    assert card.architecture == family.model.__name__  # type: ignore[attr-defined]


@pytest.mark.parametrize("ends", [[5, 0], [5, 0, 0, 0], [0, 0, 0], [0, 5, 0, 7]], ids=str)
def test_decoders_pass_over_padding_at_the_end_of_a_text(tmp_path: Path, ends: list[int]) -> None:
    model = made(FAMILIES["Qwen3"], tmp_path, labels=2)
    inputs = texts([4, 9, len(ends)], VOCABULARY)
    inputs[-1].ids[:] = ends
    found = score_parity(engine_vectors(load(tmp_path), inputs), reference_logits(model, inputs))
    assert found.error <= 1e-4
