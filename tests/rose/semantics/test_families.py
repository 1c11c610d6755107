"""Whole models as they are published: a family, its pooling and its modules, against `SentenceTransformer`."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from paritykit.folder import random_model
from paritykit.measure import parity
from paritykit.sentences import TEXTS, expected, load, vectors
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from torch import nn
from transformers import (
    DistilBertConfig,
    DistilBertModel,
    Gemma3TextConfig,
    Gemma3TextModel,
    ModernBertConfig,
    ModernBertModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedModel,
    Qwen3Config,
    Qwen3Model,
    XLMRobertaConfig,
    XLMRobertaModel,
)

VOCABULARY, HIDDEN = 39, 64
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 70,
}
IDS: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
"""Of the tokenizer of the small BERT."""
SHARED: dict[str, Any] = {"num_key_value_heads": 2, "head_dim": 16}
WINDOWS: dict[str, Any] = {"sliding_window": 8, "sliding_window_pattern": 2, "use_bidirectional_attention": True}
DISTIL: dict[str, Any] = {"dim": HIDDEN, "hidden_dim": 96, "n_layers": 2, "n_heads": 4, "vocab_size": VOCABULARY}


def projected() -> list[nn.Module]:
    layers = [Dense(*sizes, bias=False, activation_function=nn.Identity()) for sizes in ((HIDDEN, 192), (192, HIDDEN))]
    return [Pooling(HIDDEN), *layers, Normalize()]


MODELS: dict[str, tuple[Callable[[], PreTrainedModel], Callable[[], list[nn.Module]]]] = {
    "EmbeddingGemma": (
        lambda: random_model(Gemma3TextModel, Gemma3TextConfig(**SIZES, **SHARED, **WINDOWS, **IDS)),
        projected,
    ),
    "Qwen3-Embedding": (
        lambda: random_model(Qwen3Model, Qwen3Config(**SIZES, **SHARED, **IDS)),
        lambda: [Pooling(HIDDEN, "lasttoken"), Normalize()],
    ),
    "gte-modernbert": (
        lambda: random_model(
            ModernBertModel, ModernBertConfig(**SIZES, **IDS, cls_token_id=2, sep_token_id=3, local_attention=8)
        ),
        lambda: [Pooling(HIDDEN, "cls")],
    ),
    "bge-m3": (
        lambda: random_model(XLMRobertaModel, XLMRobertaConfig(**SIZES, **IDS, type_vocab_size=1)),
        lambda: [Pooling(HIDDEN, "cls"), Normalize()],
    ),
    "all-mpnet": (
        lambda: random_model(MPNetModel, MPNetConfig(**{**SIZES, "max_position_embeddings": 80}, **IDS)),
        lambda: [Pooling(HIDDEN), Normalize()],
    ),
    "distiluse": (
        lambda: random_model(DistilBertModel, DistilBertConfig(**DISTIL, max_position_embeddings=70)),
        lambda: [Pooling(HIDDEN), Dense(HIDDEN, 48)],
    ),
}


def saved(name: str, base: Path, folder: Path) -> SentenceTransformer:
    """A model of that kind with the tokenizer of the small BERT, and its folder."""
    make, modules = MODELS[name]
    make().save_pretrained(folder)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(base / file, folder)
    torch.manual_seed(5)
    model = SentenceTransformer(modules=[Transformer(str(folder)), *modules()], device="cpu").eval()
    model.save_pretrained(str(folder), create_model_card=False)
    return model


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("dtype", "least", "most"), [("float32", 0.99999, 1e-4), ("bfloat16", 0.999, 1.0)])
def test_a_model_as_it_is_published_is_that_of_the_reference(
    base: Path, tmp_path: Path, name: str, dtype: str, least: float, most: float
) -> None:
    model = saved(name, base, tmp_path)
    engine = load(tmp_path, dtype=dtype)
    texts = [text for text in TEXTS if len(text) < 120]
    found = parity(vectors(engine, model, texts), expected(model, texts))
    print(name, dtype, found)
    assert found.cosine >= least
    assert found.error <= most
    assert engine.card.dimensions == model.get_embedding_dimension()


def test_the_real_model_is_that_of_the_reference(minilm: Path) -> None:
    model = SentenceTransformer(str(minilm), device="cpu")
    texts = ["", "a cat", "Ein Hund läuft über die Straße.", "x" * 500, "the quick brown fox " * 20, "猫が好き"]
    found = parity(vectors(load(minilm), model, texts), expected(model, texts))
    print(found)
    assert found.cosine >= 0.99999
    assert found.error <= 1e-6
