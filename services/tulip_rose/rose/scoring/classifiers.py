"""Sequence classifiers: the head that each puts on its base model.

One function a manner of head; families share them. A head is computed in float32 whatever the base model is.
"""

from collections.abc import Callable

import torch
from torch.nn import functional

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.pooling_words import Pooling
from tulip_rose.rose.rows.activation import RowActivation
from tulip_rose.rose.scoring.head_taker import HeadTaker
from tulip_rose.rose.scoring.labels import labels_of
from tulip_rose.rose.scoring.scorer import Scorer

Make = Callable[[Config, HeadTaker], Scorer]
"""Takes the tensors of a head."""

_ACTIVATIONS: dict[str, RowActivation] = {
    "gelu": functional.gelu,
    "relu": torch.relu,
    "silu": functional.silu,
    "tanh": torch.tanh,
}


def _pooler(prefix: str) -> Make:
    """The first token through the base model's own pooler, then a classifier, as in BERT."""

    def make(config: Config, take: HeadTaker) -> Scorer:
        labels, hidden = labels_of(config), config.integer("hidden_size")
        pooler = take.dense(f"{prefix}.pooler.dense", hidden, hidden, torch.tanh)
        return Scorer((Pooling.CLS,), (pooler, take.dense("classifier", len(labels), hidden)), labels)

    return make


def _roberta(config: Config, take: HeadTaker) -> Scorer:
    """The first token through two layers of the classifier's own."""
    labels, hidden = labels_of(config), config.integer("hidden_size")
    first = take.dense("classifier.dense", hidden, hidden, torch.tanh)
    return Scorer((Pooling.CLS,), (first, take.dense("classifier.out_proj", len(labels), hidden)), labels)


def _distilbert(config: Config, take: HeadTaker) -> Scorer:
    labels, hidden = labels_of(config), config.integer(config.spelling("dim", "hidden_size"))
    first = take.dense("pre_classifier", hidden, hidden, torch.relu)
    return Scorer((Pooling.CLS,), (first, take.dense("classifier", len(labels), hidden)), labels)


def _modernbert(config: Config, take: HeadTaker) -> Scorer:
    """The first token, or the mean of all, through a layer and a norm."""
    labels, hidden = labels_of(config), config.integer("hidden_size")
    pooling = {"cls": Pooling.CLS, "mean": Pooling.MEAN}[config.demand("classifier_pooling", "cls", "mean")]
    activation = _ACTIVATIONS[config.demand("classifier_activation", *_ACTIVATIONS)]
    bias, norm_bias = (bool(config.demand(key, False, True)) for key in ("classifier_bias", "norm_bias"))
    first = take.dense("head.dense", hidden, hidden, activation, bias=bias)
    norm = take.norm("head.norm", hidden, config.number("norm_eps", 1e-5), bias=norm_bias)
    return Scorer((pooling,), (first, norm, take.dense("classifier", len(labels), hidden)), labels)


def _last_token(config: Config, take: HeadTaker) -> Scorer:
    """The last token that is no padding, through one layer without bias: decoders."""
    labels, hidden = labels_of(config), config.integer("hidden_size")
    padding = config.values.get("pad_token_id")
    if padding is not None and not isinstance(padding, int):
        raise LoadError(f"{config.where}: pad_token_id is {padding!r}, a whole number was expected")
    score = take.dense("score", len(labels), hidden, bias=False)
    return Scorer((Pooling.LAST_TOKEN,), (score,), labels, padding)


CLASSIFIERS: dict[str, Make] = {
    "BertForSequenceClassification": _pooler("bert"),
    "CamembertForSequenceClassification": _roberta,
    "DistilBertForSequenceClassification": _distilbert,
    "Gemma3TextForSequenceClassification": _last_token,
    "MPNetForSequenceClassification": _roberta,
    "ModernBertForSequenceClassification": _modernbert,
    "NomicBertForSequenceClassification": _pooler("nomic_bert"),
    "Qwen3ForSequenceClassification": _last_token,
    "RobertaForSequenceClassification": _roberta,
    "XLMRobertaForSequenceClassification": _roberta,
}
"""By the name in `architectures`."""
