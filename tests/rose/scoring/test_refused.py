"""Models that score, of which something is missing or wrong: each stops the start with one line that names it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForSequenceClassification, BertModel, Qwen3Config, Qwen3ForCausalLM
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.options import EngineOptions

SIZES: dict[str, Any] = {
    "vocab_size": 60,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 32,
}
PACKAGE = "sentence_transformers.cross_encoder.modules"
TRANSFORMER = {"type": "sentence_transformers.base.modules.transformer.Transformer", "path": ""}
POOLING = {"type": "sentence_transformers.sentence_transformer.modules.pooling.Pooling", "path": "1_Pooling"}
DENSE = [{"type": "sentence_transformers.base.modules.dense.Dense", "path": f"{index}_Dense"} for index in (2, 3)]
WEIGHTS = "model.safetensors"
LOGIT_SCORE = {"type": f"{PACKAGE}.logit_score.LogitScore", "path": "1_LogitScore"}


def classifier(folder: Path) -> None:
    BertForSequenceClassification(BertConfig(**SIZES, num_labels=3)).save_pretrained(folder)


def reranker(folder: Path) -> None:
    """With a module that says what is read."""
    language_model(folder)
    logit_score(folder)


def logit_score(folder: Path) -> None:
    write(folder / "modules.json", [TRANSFORMER, LOGIT_SCORE])
    write(folder / "1_LogitScore" / "config.json", {"true_token_id": 4, "false_token_id": 5})


def layers(folder: Path) -> None:
    """A base model, and layers of which the last one scores."""
    BertModel(BertConfig(**SIZES)).save_pretrained(folder)
    write(folder / "modules.json", [TRANSFORMER, POOLING, *DENSE])
    write(folder / "1_Pooling" / "config.json", {"pooling_mode": "cls"})
    for entry, name in zip(DENSE, ("sentence_embedding", "scores"), strict=True):
        settings = {"in_features": 32, "out_features": 32, "module_output_name": name}
        write(folder / entry["path"] / "config.json", settings)
        save_file({"linear.weight": torch.eye(32), "linear.bias": torch.ones(32)}, folder / entry["path"] / WEIGHTS)


def language_model(folder: Path) -> None:
    """With nothing that says that it scores, but for a tokenizer that has the words."""
    config = Qwen3Config(**SIZES, num_key_value_heads=1, head_dim=16, tie_word_embeddings=True)
    Qwen3ForCausalLM(config).save_pretrained(folder)
    write(folder / "tokenizer.json", {"model": {"vocab": {"yes": 4, "no": 5}}})


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))


def edit(name: str, **keys: Any) -> Callable[[Path], None]:
    """Change keys of a file; None takes one away."""

    def change(folder: Path) -> None:
        value = {**json.loads((folder / name).read_text()), **keys}
        write(folder / name, {key: own for key, own in value.items() if own is not None})

    return change


def tensors(**changes: torch.Tensor | None) -> Callable[[Path], None]:
    """Change tensors by name, `_` for `.`; None takes one away."""

    def change(folder: Path) -> None:
        path = folder / WEIGHTS
        found = {**load_file(path), **{name.replace("__", "."): tensor for name, tensor in changes.items()}}
        save_file({name: tensor for name, tensor in found.items() if tensor is not None}, path)

    return change


def replace(name: str, value: Any) -> Callable[[Path], None]:
    return lambda folder: write(folder / name, value)


@dataclass(frozen=True, slots=True)
class Broken:
    """A folder, what is done to it, how it is asked for, and what the line says."""

    made: Callable[[Path], None]
    broken: Callable[[Path], None]
    says: tuple[str, ...]
    asked: dict[str, Any] = field(default_factory=dict)
    """Of the engine."""


def load(folder: Path, **asked: Any) -> Engine:
    return Engine.load(folder, EngineOptions(device="cpu", threads=1, **asked))


def nothing(_: Path) -> None:
    """Broken as it is."""


BROKEN = {
    "no classifier": Broken(classifier, tensors(classifier__weight=None), ("classifier.weight", "missing")),
    "no pooler": Broken(classifier, tensors(bert__pooler__dense__bias=None), ("bert.pooler.dense.bias", "missing")),
    "more labels than the config tells": Broken(
        classifier, tensors(classifier__weight=torch.zeros(4, 32)), ("classifier.weight", "[4, 32]", "[3, 32]")
    ),
    "a transposed classifier": Broken(
        classifier, tensors(classifier__weight=torch.zeros(32, 3)), ("classifier.weight", "[32, 3]")
    ),
    "a classifier of whole numbers": Broken(
        classifier, tensors(classifier__bias=torch.zeros(3, dtype=torch.int64)), ("classifier.bias", "I64")
    ),
    "a classifier with a layer too many": Broken(
        classifier, tensors(classifier__extra__weight=torch.zeros(3)), ("classifier.extra.weight",)
    ),
    "a classifier of what is not a number": Broken(
        classifier, tensors(classifier__bias=torch.full((3,), torch.nan)), ("classifier.bias",)
    ),
    "labels that do not count up": Broken(
        classifier, edit("config.json", id2label={"0": "a", "2": "b", "3": "c"}), ("config.json", "id2label")
    ),
    "two numbers of labels": Broken(classifier, edit("config.json", num_labels=2), ("config.json", "num_labels")),
    "called for its states": Broken(
        classifier,
        replace("sentence_bert_config.json", {"transformer_task": "feature-extraction"}),
        ("sentence_bert_config.json", "transformer_task"),
    ),
    "a pooling asked of scores": Broken(classifier, nothing, ("spec.embedding.pooling",), {"pooling": "mean"}),
    "unit norm asked of scores": Broken(classifier, nothing, ("spec.embedding.normalize",), {"normalize": True}),
    "sizes asked of scores": Broken(classifier, nothing, ("spec.embedding.dimensions",), {"allowed_dimensions": (2,)}),
    "a language model that nothing is said of": Broken(
        language_model, nothing, ("Qwen3ForCausalLM", "LogitScore", "spec.embedding.scoring")
    ),
    "no tokenizer to find the words in": Broken(
        language_model, lambda folder: (folder / "tokenizer.json").unlink(), ("tokenizer.json",), {"scores": True}
    ),
    "no such word": Broken(
        language_model,
        replace("tokenizer.json", {"model": {"vocab": {"yes": 4}}}),
        ("tokenizer.json", "'no'"),
        {"scores": True},
    ),
    "a tokenizer of another model": Broken(
        language_model,
        replace("tokenizer.json", {"model": {"vocab": {"yes": 4, "no": 9000}}}),
        ("tokenizer.json", "9000", "60"),
        {"scores": True},
    ),
    "no settings of what is read": Broken(
        reranker, lambda folder: (folder / "1_LogitScore" / "config.json").unlink(), ("1_LogitScore", "config.json")
    ),
    "no token that is read": Broken(
        reranker, edit("1_LogitScore/config.json", true_token_id=None), ("1_LogitScore", "true_token_id")
    ),
    "a token that is none": Broken(
        reranker, edit("1_LogitScore/config.json", false_token_id=60), ("1_LogitScore", "60")
    ),
    "something else that is read": Broken(
        reranker, edit("1_LogitScore/config.json", module_input_name="states"), ("1_LogitScore", "module_input_name")
    ),
    "a setting of what is read that nobody knows": Broken(
        reranker, edit("1_LogitScore/config.json", temperature=2), ("1_LogitScore", "temperature")
    ),
    "outputs that are not in the file": Broken(
        reranker, edit("config.json", tie_word_embeddings=False), ("lm_head.weight", "missing")
    ),
    "outputs that are said to be the words and are not": Broken(
        reranker, tensors(lm_head__weight=torch.ones(60, 32)), ("tie_word_embeddings", "lm_head.weight")
    ),
    "scores that go on as rows": Broken(
        layers, edit("2_Dense/config.json", module_output_name="scores"), ("2_Dense", "module_output_name", "scores")
    ),
    "layers that score, and unit norm": Broken(layers, nothing, ("spec.embedding.normalize",), {"normalize": True}),
    "a LogitScore on what has no logits": Broken(
        classifier,
        logit_score,
        ("config.json", "LogitScore", "BertForSequenceClassification"),
    ),
}


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN)
def test_what_is_wrong_is_told_in_one_line(tmp_path: Path, case: Broken) -> None:
    case.made(tmp_path)
    case.broken(tmp_path)
    with pytest.raises(LoadError) as caught:
        load(tmp_path, **case.asked)
    line = str(caught.value)
    assert "\n" not in line
    assert [said for said in case.says if said not in line] == []


@pytest.mark.parametrize(
    ("made", "scores"), [(classifier, False), (reranker, False), (language_model, True), (layers, False)]
)
def test_unbroken_each_of_them_starts(tmp_path: Path, made: Callable[[Path], None], *, scores: bool) -> None:
    made(tmp_path)
    assert load(tmp_path, scores=scores).card.labels
