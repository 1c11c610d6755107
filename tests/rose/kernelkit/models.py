"""Small models whose sizes are no powers of two, so that every block has a tail."""

from collections.abc import Callable
from typing import Any

from paritykit.folder import random_model
from transformers import (
    BertConfig,
    BertModel,
    Gemma3TextConfig,
    Gemma3TextModel,
    ModernBertConfig,
    ModernBertModel,
    NomicBertConfig,
    NomicBertModel,
    PreTrainedModel,
    Qwen3Config,
    Qwen3Model,
    XLMRobertaConfig,
    XLMRobertaModel,
)

VOCABULARY, HIDDEN = 60, 24
_SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 80,
}
_IDS = dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id", "pad_token_id"), 1)
_SHARED: dict[str, Any] = {"num_key_value_heads": 1, "head_dim": 12, "pad_token_id": 1}
_WINDOWS: dict[str, Any] = {"sliding_window": 8, "sliding_window_pattern": 2, "use_bidirectional_attention": True}
MODELS: dict[str, tuple[Callable[[], PreTrainedModel], str]] = {
    "bert": (lambda: random_model(BertModel, BertConfig(**_SIZES)), "mean"),
    "xlm-roberta": (lambda: random_model(XLMRobertaModel, XLMRobertaConfig(**_SIZES, type_vocab_size=1)), "cls"),
    "qwen3": (lambda: random_model(Qwen3Model, Qwen3Config(**_SIZES, **_SHARED)), "lasttoken"),
    "gemma": (lambda: random_model(Gemma3TextModel, Gemma3TextConfig(**_SIZES, **_SHARED, **_WINDOWS)), "mean"),
    "modernbert": (
        lambda: random_model(ModernBertModel, ModernBertConfig(**_SIZES, **_IDS, local_attention=8)),
        "cls",
    ),
    "nomic": (lambda: random_model(NomicBertModel, NomicBertConfig(**_SIZES)), "max"),
}
"""Each with how its states become a row."""
