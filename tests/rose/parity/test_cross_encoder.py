"""Models that score, as sentence-transformers' CrossEncoder has them: each layout of a folder against its own class."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from paritykit.folder import random_model, save
from paritykit.measure import Array, engine_vectors, parity, reference_states
from paritykit.pairs import Pair, pairs, save_tokenizer, tokens_of
from paritykit.scores import score_parity
from paritykit.texts import Text, texts
from sentence_transformers import CrossEncoder
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.cross_encoder.modules import LogitScore
from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    ModernBertConfig,
    ModernBertModel,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3ForSequenceClassification,
)
from tulip_rose.rose.card import Task
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions

VOCABULARY, LONGEST = 90, 64
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": LONGEST,
}
DECODER = {**SIZES, "num_key_value_heads": 2, "head_dim": 32, "pad_token_id": 0}
IDS = {"pad_token_id": 0, **dict.fromkeys(("bos_token_id", "cls_token_id"), 2)}
IDS |= dict.fromkeys(("eos_token_id", "sep_token_id"), 3)
SHORT = [(3, 5), (1, 1), (0, 4), (4, 0), (0, 0), (3, 5), (8, 20)]
PAIRS = pairs([*SHORT, (40, 40), (2, 90), (90, 2), (30, 31)], VOCABULARY)
YES = 4
Layout = Callable[[Path], CrossEncoder]


def classifier(folder: Path, labels: int = 1) -> CrossEncoder:
    """Published long ago: a classifier and a tokenizer, nothing of sentence-transformers."""
    random_model(BertForSequenceClassification, BertConfig(**SIZES, num_labels=labels)).save_pretrained(folder)
    return encoder(folder, typed=True)


def saved_classifier(folder: Path) -> CrossEncoder:
    """The same as sentence-transformers saves it now, with one module."""
    return saved(classifier(folder), folder)


def decoder(folder: Path) -> CrossEncoder:
    random_model(Qwen3ForSequenceClassification, Qwen3Config(**DECODER, num_labels=1)).save_pretrained(folder)
    return saved(encoder(folder), folder)


def modules(folder: Path) -> CrossEncoder:
    """A base model, and its head in modules after pooling."""
    random_model(ModernBertModel, ModernBertConfig(**SIZES, **IDS)).save_pretrained(folder)
    save_tokenizer(folder, VOCABULARY, LONGEST)
    torch.manual_seed(7)
    head = [
        Pooling(64, "cls"),
        Dense(64, 64, bias=False, activation_function=nn.GELU()),
        LayerNorm(64),
        Dense(64, 1, activation_function=nn.Identity(), module_output_name="scores"),
    ]
    return saved(CrossEncoder(modules=[Transformer(str(folder)), *head], device="cpu"), folder)


def tied(folder: Path) -> CrossEncoder:
    """A language model whose outputs share the table of its words."""
    return saved(language_model(folder, tie_word_embeddings=True), folder)


def bare(folder: Path) -> CrossEncoder:
    """A language model of which only the manifest says that it scores."""
    return language_model(folder, tie_word_embeddings=True)


def untied(folder: Path) -> CrossEncoder:
    return saved(language_model(folder, tie_word_embeddings=False), folder)


def one_token(folder: Path) -> CrossEncoder:
    """A reranker by the logit of one token alone."""
    found = language_model(folder, tie_word_embeddings=True)
    return saved(CrossEncoder(modules=[found[0], LogitScore(YES)], device="cpu"), folder)


def language_model(folder: Path, *, tie_word_embeddings: bool) -> CrossEncoder:
    config = Qwen3Config(**DECODER, tie_word_embeddings=tie_word_embeddings)
    random_model(Qwen3ForCausalLM, config).save_pretrained(folder)
    return encoder(folder)


def encoder(folder: Path, *, typed: bool = False) -> CrossEncoder:
    save_tokenizer(folder, VOCABULARY, LONGEST, typed=typed)
    return CrossEncoder(str(folder), device="cpu")


def saved(model: CrossEncoder, folder: Path) -> CrossEncoder:
    model.save(str(folder))
    return model


def expected(model: CrossEncoder) -> list[Array]:
    found = model.predict(PAIRS, activation_fn=nn.Identity(), batch_size=4)
    return [np.atleast_2d(row) for row in np.asarray(found)]


def load(folder: Path, *, scores: bool = False, dtype: str = "float32") -> Engine:
    return Engine.load(folder, EngineOptions(device="cpu", threads=1, scores=scores, dtype=dtype))


def scored(engine: Engine, folder: Path, asked: list[Pair] = PAIRS) -> list[Array]:
    return engine_vectors(engine, [tokens_of(pair, folder) for pair in asked])


LAYOUTS = [classifier, saved_classifier, decoder, modules, tied, untied, one_token, bare]


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_scores_of_pairs_are_those_of_the_cross_encoder(tmp_path: Path, layout: Layout, dtype: str) -> None:
    model = layout(tmp_path)
    engine = load(tmp_path, dtype=dtype, scores=layout is bare)
    found = score_parity(scored(engine, tmp_path), expected(model))
    assert found.correlation >= (0.99999 if dtype == "float32" else 0.999)
    if dtype == "float32":
        assert found.error <= 2e-5


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_the_card_tells_one_label_and_the_length_that_pairs_are_cut_to(tmp_path: Path, layout: Layout) -> None:
    layout(tmp_path)
    card = load(tmp_path, scores=layout is bare).card
    assert card.task is Task.SCORE
    assert (card.dimensions, card.labels, card.normalize) == (1, ("LABEL_0",), False)
    assert card.max_input_tokens == LONGEST


def test_each_label_of_a_pair_has_its_score(tmp_path: Path) -> None:
    model = classifier(tmp_path, labels=4)
    found = score_parity(scored(load(tmp_path), tmp_path), expected(model))
    assert found.error <= 2e-5


def test_a_pair_scores_the_same_whatever_is_beside_it(tmp_path: Path) -> None:
    saved_classifier(tmp_path)
    engine = load(tmp_path)
    together = scored(engine, tmp_path)
    alone = [scored(engine, tmp_path, [pair])[0] for pair in PAIRS]
    assert np.abs(np.concatenate(together) - np.concatenate(alone)).max() <= 1e-5


def test_types_of_tokens_tell_the_sides_of_a_pair(tmp_path: Path) -> None:
    classifier(tmp_path)
    engine = load(tmp_path)
    text = tokens_of(PAIRS[0], tmp_path)
    typed, untyped = engine_vectors(engine, [text, Text(text.ids)])
    assert abs(typed - untyped).max() > 1e-3


def test_a_classifier_of_which_the_files_say_that_it_embeds_embeds(tmp_path: Path) -> None:
    model = random_model(BertForSequenceClassification, BertConfig(**SIZES, num_labels=1))
    engine = Engine.load(save(model, tmp_path), EngineOptions(device="cpu", threads=1))
    assert engine.card.task is Task.EMBED
    inputs = texts([3, 9, 64], VOCABULARY)
    states = reference_states(model.bert, inputs)
    assert parity(engine_vectors(engine, inputs), [each.mean(0, keepdims=True) for each in states]).cosine >= 0.99999


def test_a_language_model_of_which_the_files_say_that_it_embeds_embeds(tmp_path: Path) -> None:
    model = random_model(Qwen3ForCausalLM, Qwen3Config(**DECODER, tie_word_embeddings=False))
    engine = Engine.load(save(model, tmp_path, "lasttoken"), EngineOptions(device="cpu", threads=1))
    assert engine.card.task is Task.EMBED
    inputs = texts([3, 9, 64], VOCABULARY)
    states = reference_states(model.model, inputs)
    assert parity(engine_vectors(engine, inputs), [each[-1:] for each in states]).cosine >= 0.99999
