"""Heads that score, broken on purpose: the comparison with the classes of transformers sees each break."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from paritykit.breaks import Break, entry, instead
from paritykit.classifiers import FAMILIES, QWEN, VOCABULARY, made
from paritykit.folder import random_model
from paritykit.measure import Array, engine_vectors
from paritykit.scores import reference_logits, score_parity
from paritykit.texts import Text, texts
from torch.nn import functional
from transformers import PreTrainedModel, Qwen3Config, Qwen3ForCausalLM
from tulip_rose.rose import device
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions
from tulip_rose.rose.pooling_words import Pooling
from tulip_rose.rose.scoring import classifiers, find, head_taker, read, reranker
from tulip_rose.rose.scoring.scorer import Scorer

YES, NO = 4, 5
RERANKERS = {"reranker, tied": True, "reranker, untied": False}
LENGTHS = [2, 3, 5, 17, 64, 3]


def reads(**changes: Any) -> Break:
    """A head of which some fields are others."""
    return scorer(lambda found: replace(found, **changes))


def scorer(change: Callable[[Scorer], Scorer]) -> Break:
    """Another head than the one that was found."""
    return instead(read, "find_scoring", lambda plain: lambda *args, **more: changed(plain(*args, **more), change))


def changed(make: classifiers.Make, change: Callable[[Scorer], Scorer]) -> classifiers.Make:
    return lambda config, take: change(make(config, take))


def layer(**changes: Any) -> Break:
    """Layers of which some fields are others."""
    return instead(head_taker, "Dense", lambda plain: lambda *fields: replace(plain(*fields), **changes))


def without(index: int) -> Break:
    """One of the layers left out."""
    return scorer(lambda found: replace(found, rows=found.rows[:index] + found.rows[index + 1 :]))


def words(_: Any, take: head_taker.HeadTaker, ids: list[int], shape: tuple[int, int]) -> torch.Tensor:
    return take.rows("model.embed_tokens.weight", ids, shape, keep=True)


def backwards(rows: Any) -> Any:
    return lambda values: rows(values).flip(1)


BREAKS: dict[str, tuple[str, Break]] = {
    "BERT without its pooler": ("BERT, pairs", without(0)),
    "BERT without tanh": ("BERT, pairs", layer(activation=lambda rows: rows)),
    "BERT with tanh after the labels": ("BERT, pairs", layer(activation=torch.tanh)),
    "BERT from the mean": ("BERT, pairs", reads(poolings=(Pooling.MEAN,))),
    "BERT from the last token": ("BERT, pairs", reads(poolings=(Pooling.LAST_TOKEN,))),
    "BERT without biases": ("BERT, pairs", layer(bias=None)),
    "labels from the end": (
        "BERT, pairs",
        scorer(lambda found: replace(found, rows=(*found.rows[:-1], backwards(found.rows[-1])))),
    ),
    "labels as probabilities": (
        "BERT, pairs",
        scorer(lambda found: replace(found, rows=(*found.rows, lambda rows: rows.softmax(1)))),
    ),
    "a score after its sigmoid": (
        "Qwen3",
        scorer(lambda found: replace(found, padding=None, rows=(*found.rows, torch.sigmoid))),
    ),
    "RoBERTa without tanh": ("RoBERTa", layer(activation=lambda rows: rows)),
    "RoBERTa from the largest of all tokens": ("RoBERTa", reads(poolings=(Pooling.MAX,))),
    "DistilBERT with tanh": (
        "DistilBERT",
        scorer(lambda found: replace(found, rows=(replace(found.rows[0], activation=torch.tanh), found.rows[1]))),
    ),
    "MPNet without its first layer": ("MPNet", without(0)),
    "ModernBERT without its norm": ("ModernBERT", without(1)),
    "ModernBERT, GELU by tanh": (
        "ModernBERT",
        entry(classifiers._ACTIVATIONS, "gelu", lambda _: lambda rows: functional.gelu(rows, approximate="tanh")),
    ),
    "ModernBERT, the first token for the mean": ("ModernBERT, mean", reads(poolings=(Pooling.CLS,))),
    "ModernBERT, the mean for the first token": ("ModernBERT", reads(poolings=(Pooling.MEAN,))),
    "Qwen3 from the first token": ("Qwen3", reads(padding=None, poolings=(Pooling.CLS,))),
    "Qwen3, padding read": ("Qwen3", reads(padding=None)),
    "a reranker with no for yes": (
        "reranker, tied",
        instead(find, "reads_module", lambda _: lambda module: reranker.reads_tokens([NO, YES], "")),
    ),
    "a reranker by yes alone": (
        "reranker, tied",
        instead(find, "reads_module", lambda _: lambda module: reranker.reads_tokens([YES], "")),
    ),
    "a reranker by the words where outputs differ": (
        "reranker, untied",
        instead(reranker, "_rows", lambda _: words),
    ),
    "a reranker from the mean": ("reranker, untied", reads(poolings=(Pooling.MEAN,))),
}
Equal = Callable[[str], bool]


@pytest.fixture
def equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Equal:
    """Whether an engine is the reference, as the tests of families ask it, of texts that end with padding too."""
    monkeypatch.setattr(device, "serves", lambda dtype: False)

    def ask(name: str) -> bool:
        if name in RERANKERS:
            model, paired = language_model(tmp_path, tied=RERANKERS[name]), False
        else:
            model, paired = made(FAMILIES[name], tmp_path, 3), FAMILIES[name].paired
        inputs = texts(LENGTHS, VOCABULARY, paired=paired)
        if name == "Qwen3":
            inputs[-1].ids[-1] = 0
        engine = Engine.load(tmp_path, EngineOptions(device="cpu", threads=1))
        return score_parity(engine_vectors(engine, inputs), wanted(model, inputs)).error <= 1e-4

    return ask


def language_model(folder: Path, *, tied: bool) -> PreTrainedModel:
    model = random_model(Qwen3ForCausalLM, Qwen3Config(**QWEN, tie_word_embeddings=tied))
    model.save_pretrained(folder)
    kinds = {"": "base.modules.transformer.Transformer", "1_LogitScore": "cross_encoder.modules.LogitScore"}
    entries = [{"path": path, "type": f"sentence_transformers.{kind}"} for path, kind in kinds.items()]
    (folder / "modules.json").write_text(json.dumps(entries))
    (folder / "1_LogitScore").mkdir()
    (folder / "1_LogitScore" / "config.json").write_text(json.dumps({"true_token_id": YES, "false_token_id": NO}))
    return model


def wanted(model: PreTrainedModel, inputs: list[Text]) -> list[Array]:
    logits = reference_logits(model, inputs)
    if isinstance(model, Qwen3ForCausalLM):
        return [row[:, [YES]] - row[:, [NO]] for row in logits]
    return logits


@pytest.mark.parametrize("name", sorted({name for name, _ in BREAKS.values()}))
def test_unbroken_it_is_the_reference(equal: Equal, name: str) -> None:
    assert equal(name)


@pytest.mark.parametrize("name", BREAKS)
def test_broken_it_is_not(equal: Equal, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    family, apply = BREAKS[name]
    apply(monkeypatch)
    assert not equal(family)
