"""Small models of every output that there is, each in a folder, and what texts may want of them."""

import json
from collections.abc import Callable
from math import inf
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from paritykit.classifiers import FAMILIES, made
from paritykit.folder import random_model, save
from paritykit.words import VOCABULARY, save_tokenizer
from safetensors.torch import save_file
from transformers import BertConfig, BertForMaskedLM, BertModel, XLMRobertaConfig, XLMRobertaModel
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.card import ModelCard
from tulip_rose.sequence import OutputForm, OutputKind, Sequence, VectorType, Want

HIDDEN = 32
_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 48,
}
_IDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
Forms = Callable[[ModelCard], list[OutputForm]]
Ids = NDArray[np.int32]


def _vectors(folder: Path) -> None:
    save(random_model(BertModel, BertConfig(**_SIZES)), folder)


def _terms(folder: Path) -> None:
    random_model(BertForMaskedLM, BertConfig(**_SIZES)).save_pretrained(folder)
    kinds = {"": "MLMTransformer", "1_SpladePooling": "SpladePooling"}
    package = "sentence_transformers.sparse_encoder.modules"
    entries = [{"path": path, "type": f"{package}.{kind}"} for path, kind in kinds.items()]
    (folder / "modules.json").write_text(json.dumps(entries))
    (folder / "1_SpladePooling").mkdir()
    (folder / "1_SpladePooling" / "config.json").write_text(json.dumps({"pooling_strategy": "max"}))


def _three(folder: Path) -> None:
    save(random_model(XLMRobertaModel, XLMRobertaConfig(**_SIZES, **_IDS)), folder, "cls", normalize=True)
    save_tokenizer(folder)
    torch.manual_seed(4)
    save_file({"weight": torch.randn(1, HIDDEN), "bias": torch.randn(1)}, folder / "sparse_linear.safetensors")
    layer = {"weight": torch.randn(HIDDEN, HIDDEN), "bias": torch.randn(HIDDEN)}
    save_file(layer, folder / "colbert_linear.safetensors")


def _scores(family: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        made(FAMILIES[family], folder, 3)

    return write


MODELS: dict[str, Callable[[Path], None]] = {
    "vectors": _vectors,
    "terms": _terms,
    "three heads": _three,
    "scores of pairs": _scores("BERT, pairs"),
    "scores of the last token": _scores("Qwen3"),
}


def _kinds(*kinds: OutputKind) -> Forms:
    return lambda card: [card.form(kind) for kind in kinds]


def _first(card: ModelCard) -> list[OutputForm]:
    return [card.form()]


OUTPUTS: dict[str, tuple[str, Forms]] = {
    "vectors": ("vectors", _first),
    "int8": ("vectors", lambda _: [OutputForm(HIDDEN, vector_type=VectorType.INT8)]),
    "bits": ("vectors", lambda _: [OutputForm(HIDDEN - 3, vector_type=VectorType.BINARY)]),
    "vectors that are cut": ("vectors", lambda _: [OutputForm(7)]),
    "vectors of two forms": ("vectors", lambda _: [OutputForm(HIDDEN), OutputForm(7, normalize=False)]),
    "terms": ("terms", _first),
    "the heaviest terms": ("terms", lambda _: [OutputForm(5, kind=OutputKind.SPARSE)]),
    "terms of words": ("three heads", _kinds(OutputKind.SPARSE)),
    "vectors of tokens": ("three heads", _kinds(OutputKind.TOKENS)),
    "three outputs": ("three heads", _kinds(OutputKind.DENSE, OutputKind.SPARSE, OutputKind.TOKENS)),
    "scores of pairs": ("scores of pairs", _first),
    "scores of the last token": ("scores of the last token", _first),
}
"""Each with its model, and the forms that a text wants all of."""


def batch_of(ids: list[Ids], forms: list[OutputForm]) -> Batch:
    """Texts that want every form of themselves."""
    return Batch.pack([Sequence(own, tuple(_want(own.size, form) for form in forms), 0.0, inf) for own in ids])


def _want(size: int, form: OutputForm) -> Want:
    if form.kind is OutputKind.TOKENS:
        return Want(tuple((place, place + 1) for place in range(size)), form)
    return Want(((0, size),), form)
