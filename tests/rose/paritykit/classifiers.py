"""Families of sequence classifiers: a class of transformers and a configuration of it each."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paritykit.folder import RANGE, random_model
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

VOCABULARY, POSITIONS = 200, 256
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
    spread: float = RANGE


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
    "NomicBERT, pairs": Family(
        NomicBertForSequenceClassification, NomicBertConfig, SIZES, paired=True, spread=RANGE / 2
    ),
    "Gemma3": Family(Gemma3TextForSequenceClassification, Gemma3TextConfig, GEMMA),
    "Qwen3": Family(Qwen3ForSequenceClassification, Qwen3Config, QWEN),
}


def made(family: Family, folder: Path, labels: int, **changes: Any) -> PreTrainedModel:
    """A random one of so many labels, saved in a folder that says nothing else."""
    model = random_model(
        family.model, family.config(**{**family.sizes, **changes}, num_labels=labels), spread=family.spread
    )
    model.save_pretrained(folder)
    return model
