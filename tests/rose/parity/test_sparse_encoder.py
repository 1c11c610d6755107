from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paritykit.folder import random_model
from paritykit.measure import parity
from paritykit.sparse import dense, read_terms
from paritykit.words import VOCABULARY, save_tokenizer, words
from sentence_transformers import SparseEncoder
from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    MPNetConfig,
    MPNetForMaskedLM,
    PreTrainedModel,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions
from tulip_rose.rose.sparse.splade import Splade
from tulip_rose.rose.sparse.terms import Terms
from tulip_rose.rose.sparse.vocabulary import VocabularyHead
from tulip_rose.sequence import OutputForm, OutputKind, Sequence

SIZES: dict[str, Any] = {"vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
ENCODER = {**SIZES, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
MODELS: dict[str, tuple[type[PreTrainedModel], Any]] = {
    "bert": (BertForMaskedLM, BertConfig(**ENCODER)),
    "bert untied": (BertForMaskedLM, BertConfig(**ENCODER, tie_word_embeddings=False)),
    "distilbert": (DistilBertForMaskedLM, DistilBertConfig(**SIZES, dim=32, n_layers=2, n_heads=2, hidden_dim=48)),
    "modernbert": (
        ModernBertForMaskedLM,
        ModernBertConfig(**ENCODER, cls_token_id=2, sep_token_id=3),
    ),
    "mpnet": (MPNetForMaskedLM, MPNetConfig(**ENCODER)),
    "xlm-roberta": (XLMRobertaForMaskedLM, XLMRobertaConfig(**ENCODER)),
}


def saved(family: str, folder: Path, pooling: str = "max", activation: str = "relu") -> SparseEncoder:
    """A SparseEncoder of a random model, saved in the folder."""
    kind, config = MODELS[family]
    base = folder / "base"
    random_model(kind, config, spread=0.3).save_pretrained(base)
    save_tokenizer(base)
    modules = [MLMTransformer(str(base)), SpladePooling(pooling, activation)]
    encoder = SparseEncoder(modules=modules, device="cpu")
    encoder.save_pretrained(str(folder / "model"))
    return encoder


def rows_of(
    engine: Engine, encoder: SparseEncoder, texts: list[str], most: int | None = None
) -> list[dict[int, float]]:
    """Sparse rows of texts, all in one batch, of the tokens that the reference has."""
    form = OutputForm(most or engine.card.max_terms, kind=OutputKind.SPARSE)
    ids = [np.asarray(encoder.tokenizer(text)["input_ids"], np.int32) for text in texts]
    rows = engine.step(Batch.pack([Sequence.whole(own, form) for own in ids])).wait(60)
    return [read_terms(rows.of(index)) for index in range(len(texts))]


def reference(encoder: SparseEncoder, texts: list[str], **asked: Any) -> np.ndarray:
    return encoder.encode(texts, convert_to_sparse_tensor=False, batch_size=1, **asked).numpy()


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize("family", MODELS)
def test_sparse_rows_are_those_of_sparse_encoder(tmp_path: Path, family: str) -> None:
    encoder = saved(family, tmp_path)
    engine = Engine.load(tmp_path / "model", EngineOptions(device="cpu", threads=1))
    assert engine.card.outputs == (OutputKind.SPARSE,)
    assert engine.card.max_terms == VOCABULARY
    texts = words(12)
    rows = dense(rows_of(engine, encoder, texts), VOCABULARY)
    found = parity([rows], [reference(encoder, texts)])
    assert found.cosine >= 0.99999
    assert found.error <= 1e-4


@pytest.mark.parametrize("pooling", ["max", "sum"])
@pytest.mark.parametrize("activation", ["relu", "log1p_relu"])
def test_poolings_and_activations_are_those_of_sparse_encoder(tmp_path: Path, pooling: str, activation: str) -> None:
    encoder = saved("bert", tmp_path, pooling, activation)
    engine = Engine.load(tmp_path / "model", EngineOptions(device="cpu", threads=1))
    texts = words(8)
    found = parity([dense(rows_of(engine, encoder, texts), VOCABULARY)], [reference(encoder, texts)])
    assert found.cosine >= 0.99999
    assert found.error <= 1e-4


def test_as_many_terms_are_kept_as_max_active_dims_of_sparse_encoder_keeps(tmp_path: Path) -> None:
    encoder = saved("bert", tmp_path)
    engine = Engine.load(tmp_path / "model", EngineOptions(device="cpu", threads=1))
    texts = words(4)
    rows = rows_of(engine, encoder, texts, most=5)
    assert [len(row) for row in rows] == [5, 5, 5, 5]
    np.testing.assert_allclose(dense(rows, VOCABULARY), reference(encoder, texts, max_active_dims=5), atol=1e-4)


@pytest.mark.usefixtures("layers")
def test_rows_in_bfloat16_are_near_those_of_the_reference(tmp_path: Path) -> None:
    encoder = saved("bert", tmp_path)
    engine = Engine.load(tmp_path / "model", EngineOptions(dtype="bfloat16", device="cpu", threads=1))
    texts = words(8)
    assert parity([dense(rows_of(engine, encoder, texts), VOCABULARY)], [reference(encoder, texts)]).cosine >= 0.999


BREAKS: dict[str, tuple[type, str, Any]] = {
    "no logarithm": (Splade, "_weights", lambda _, logits: logits.relu()),
    "negative weights": (Splade, "_weights", lambda _, logits: logits.abs().log1p()),
    "the mean of tokens": (Splade, "of_tokens", lambda _, logits: logits.float().mean(1)),
    "no layer before the table": (VocabularyHead, "__call__", lambda head, states: head.table(states)),
    "no norm": (VocabularyHead, "__call__", lambda head, states: head.table(head.dense(states))),
    "terms out of place": (Terms, "of_dense", lambda rows: PLAIN(np.roll(rows, 1, 1))),
}
PLAIN = Terms.of_dense


@pytest.mark.parametrize("name", BREAKS)
def test_a_head_that_is_broken_on_purpose_is_seen(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = saved("bert", tmp_path)
    kind, attribute, broken = BREAKS[name]
    monkeypatch.setattr(kind, attribute, broken)
    engine = Engine.load(tmp_path / "model", EngineOptions(device="cpu", threads=1))
    texts = words(6)
    found = np.abs(dense(rows_of(engine, encoder, texts), VOCABULARY) - reference(encoder, texts)).max()
    assert found > 1e-2
