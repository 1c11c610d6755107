"""Folders of sparse and multi-vector models that are broken or are of kinds that are not served: one line each."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from paritykit.folder import random_model
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM, BertModel
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.options import EngineOptions

CONFIG = BertConfig(
    vocab_size=60, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48, pad_token_id=0
)
Break = Callable[[Path], None]


def entries(*modules: tuple[str, str]) -> str:
    return json.dumps(
        [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (kind, path) in enumerate(modules)]
    )


@pytest.fixture
def splade(tmp_path: Path) -> Path:
    folder = tmp_path / "splade"
    random_model(BertForMaskedLM, CONFIG).save_pretrained(folder)
    kinds = ("sentence_transformers.sparse_encoder.models.MLMTransformer", "")
    pooling = ("sentence_transformers.sparse_encoder.models.SpladePooling", "1_SpladePooling")
    (folder / "modules.json").write_text(entries(kinds, pooling))
    (folder / "1_SpladePooling").mkdir()
    (folder / "1_SpladePooling" / "config.json").write_text(json.dumps({"pooling_strategy": "max"}))
    return folder


@pytest.fixture
def late(tmp_path: Path) -> Path:
    folder = tmp_path / "late"
    random_model(BertModel, CONFIG).save_pretrained(folder)
    dense = ("pylate.models.Dense.Dense", "1_Dense")
    (folder / "modules.json").write_text(entries(("sentence_transformers.models.Transformer", ""), dense))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"model_type": "ColBERT"}))
    (folder / "1_Dense").mkdir()
    settings = {"in_features": 32, "out_features": 8, "bias": False}
    identity = {"activation_function": "torch.nn.modules.linear.Identity"}
    (folder / "1_Dense" / "config.json").write_text(json.dumps({**settings, **identity}))
    save_file({"linear.weight": torch.randn(8, 32)}, folder / "1_Dense" / "model.safetensors")
    return folder


def setting(name: str, **changed: Any) -> Break:
    def change(folder: Path) -> None:
        value = json.loads((folder / name).read_text()) if (folder / name).is_file() else {}
        (folder / name).write_text(json.dumps({**value, **changed}))

    return change


def modules(*kinds: str) -> Break:
    return lambda folder: (
        (folder / "modules.json").write_text(entries(*((kind, f"{i}_x" if i else "") for i, kind in enumerate(kinds))))
        and None
    )


def tensor(name: str, file: str, value: torch.Tensor | None) -> Break:
    def change(folder: Path) -> None:
        tensors = {key: own for key, own in load_file(folder / file).items() if key != name}
        save_file({**tensors, **({} if value is None else {name: value})}, folder / file, {"format": "pt"})

    return change


POOLING, TRANSFORMER = "1_SpladePooling/config.json", "sentence_bert_config.json"
ST = "sentence_transformers.models."


@pytest.mark.parametrize(
    ("broken", "line"),
    [
        (
            setting(POOLING, pooling_strategy="mean"),
            r"1_SpladePooling/config.json: pooling_strategy 'mean' is not known",
        ),
        (
            setting(POOLING, activation_function="gelu"),
            r"activation_function 'gelu' is not known; known are relu, log1p",
        ),
        (setting(POOLING, embedding_dimension=59), r"embedding_dimension is 59, the model has 60 terms"),
        (setting(POOLING, threshold=0.5), r"1_SpladePooling/config.json: threshold is not known"),
        (setting(TRANSFORMER, transformer_task="text-generation"), r"transformer_task has to be fill-mask before"),
        (setting("config.json", architectures=["BertModel"]), r"'BertModel' has no head over the vocabulary"),
        (
            modules(ST + "Transformer", ST + "SpladePooling"),
            r"transformer_task has to be fill-mask before SpladePooling",
        ),
        (modules("x.MLMTransformer", ST + "SpladePooling"), r"Transformer, SpladePooling were expected, found x.MLM"),
        (
            modules(ST + "SparseStaticEmbedding"),
            r"module SparseStaticEmbedding: weights of terms from a table.* not served",
        ),
        (
            modules(ST + "Router"),
            r"module Router: a model of one road for queries and another for documents is not served",
        ),
        (modules(ST + "Transformer", ST + "SparseAutoEncoder"), r"module SparseAutoEncoder: sparse codes of dense"),
        (
            tensor("cls.predictions.transform.dense.weight", "model.safetensors", None),
            r"tensor cls.predictions.transform.dense.weight is missing",
        ),
        (
            tensor("cls.predictions.bias", "model.safetensors", torch.zeros(61)),
            r"cls.predictions.bias has shape \[61\]",
        ),
    ],
)
def test_a_sparse_model_that_is_not_as_it_should_be_stops_the_load(splade: Path, broken: Break, line: str) -> None:
    broken(splade)
    with pytest.raises(LoadError, match=line) as raised:
        Engine.load(splade, EngineOptions(device="cpu", threads=1))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("broken", "line"),
    [
        (setting("1_Dense/config.json", in_features=16), r"1_Dense/config.json: in_features is 16"),
        (setting("1_Dense/config.json", module_output_name="sentence_embedding"), r"module_output_name 'sentence_emb"),
        (setting("1_Dense/config.json", groups=2), r"1_Dense/config.json: groups is not known"),
        (setting("config_sentence_transformers.json", document_length=0), r"document_length 0 is not a whole number"),
        (
            tensor("linear.weight", "1_Dense/model.safetensors", torch.zeros(32, 8)),
            r"linear.weight has shape \[32, 8\]",
        ),
        (
            modules(ST + "Transformer", "sentence_transformers.multi_vector_encoder.modules.HierarchicalTokenPooling"),
            r"modules.json: Transformer, then Dense, .* were expected, found Transformer, HierarchicalTokenPooling",
        ),
    ],
)
def test_a_multi_vector_model_that_is_not_as_it_should_be_stops_the_load(late: Path, broken: Break, line: str) -> None:
    broken(late)
    with pytest.raises(LoadError, match=line) as raised:
        Engine.load(late, EngineOptions(device="cpu", threads=1))
    assert "\n" not in str(raised.value)


def test_a_pooling_is_refused_where_nothing_is_pooled(splade: Path) -> None:
    with pytest.raises(LoadError, match=r"pooling 'mean': .* holds a model that gives no dense vector"):
        Engine.load(splade, EngineOptions(device="cpu", threads=1, pooling="mean"))


def test_documents_are_as_long_as_their_model_was_made_for_unless_the_manifest_says(late: Path) -> None:
    setting("config_sentence_transformers.json", document_length=90)(late)
    options = EngineOptions(device="cpu", threads=1)
    assert Engine.load(late, options).card.max_input_tokens == 90
    assert Engine.load(late, EngineOptions(device="cpu", threads=1, max_input_tokens=200)).card.max_input_tokens == 200
