import json
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from paritykit.folder import random_model
from paritykit.measure import parity
from paritykit.words import VOCABULARY, save_tokenizer, words
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from torch import nn
from transformers import BertConfig, BertModel, ModernBertConfig, ModernBertModel, PreTrainedModel
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.late import tokens
from tulip_rose.rose.layers import head
from tulip_rose.rose.options import EngineOptions
from tulip_rose.rose.rows import dense as rows_dense
from tulip_rose.sequence import OutputKind, Sequence, Want

ENCODER: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "pad_token_id": 0,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
}
MODELS: dict[str, tuple[type[PreTrainedModel], Any]] = {
    "bert": (BertModel, BertConfig(**ENCODER)),
    "modernbert": (
        ModernBertModel,
        ModernBertConfig(**ENCODER, cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3),
    ),
}


def base(family: str, folder: Path) -> Path:
    kind, config = MODELS[family]
    random_model(kind, config, spread=0.3).save_pretrained(folder)
    save_tokenizer(folder)
    return folder


def native(family: str, folder: Path) -> Path:
    """A folder as sentence-transformers saves it."""
    dense = Dense(32, 16, bias=False, activation_function=nn.Identity(), module_input_name="token_embeddings")
    modules = [
        Transformer(str(base(family, folder / "base")), document_length=64),
        dense,
        MultiVectorMask(list(string.punctuation)),
        Normalize(module_input_name="token_embeddings"),
    ]
    prompts = {"query": "[Q] ", "document": "[D] "}
    MultiVectorEncoder(modules=modules, device="cpu", prompts=prompts).save_pretrained(str(folder / "model"))
    return folder / "model"


def pylate(family: str, folder: Path) -> Path:
    """A folder as PyLate saves it: two modules, and the rest in one file."""
    model = base(family, folder / "model")
    types = ["sentence_transformers.models.Transformer", "pylate.models.Dense.Dense"]
    paths = ["", "1_Dense"]
    entries = [{"idx": i, "name": str(i), "path": paths[i], "type": types[i]} for i in range(2)]
    (model / "modules.json").write_text(json.dumps(entries))
    (model / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 64, "do_lower_case": False}))
    (model / "1_Dense").mkdir()
    settings = {"in_features": 32, "out_features": 16, "bias": False}
    identity = {"activation_function": "torch.nn.modules.linear.Identity"}
    (model / "1_Dense" / "config.json").write_text(json.dumps({**settings, **identity}))
    save_file({"linear.weight": torch.randn(16, 32)}, model / "1_Dense" / "model.safetensors")
    own = {
        "model_type": "ColBERT",
        "query_prefix": "[Q] ",
        "document_prefix": "[D] ",
        "query_length": 32,
        "document_length": 64,
        "attend_to_expansion_tokens": False,
        "skiplist_words": list(string.punctuation),
    }
    (model / "config_sentence_transformers.json").write_text(json.dumps(own))
    return model


def stanford(family: str, folder: Path) -> Path:
    """A folder as ColBERT itself saves it: the layer beside the base model."""
    model = base(family, folder / "model")
    weights = {f"bert.{name}": tensor for name, tensor in load_file(model / "model.safetensors").items()}
    save_file({**weights, "linear.weight": torch.randn(16, 32)}, model / "model.safetensors", {"format": "pt"})
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "architectures": ["HF_ColBERT"]}))
    metadata = {"query_token_id": "[Q]", "doc_token_id": "[D]", "dim": 16, "query_maxlen": 32, "doc_maxlen": 64}
    (model / "artifact.metadata").write_text(json.dumps(metadata))
    return model


def kept(encoder: MultiVectorEncoder, ids: np.ndarray) -> list[int]:
    """Places of the tokens whose vectors a document keeps."""
    marks = {encoder.tokenizer.convert_tokens_to_ids(mark) for mark in string.punctuation}
    return [place for place, token in enumerate(ids.tolist()) if token not in marks]


def document_rows(engine: Engine, encoder: MultiVectorEncoder, texts: list[str]) -> list[np.ndarray]:
    """Vectors of documents' tokens, all in one batch, of the tokens that the reference has."""
    prompt = encoder.prompts["document"]
    ids = [np.asarray(encoder.tokenizer(prompt + text)["input_ids"], np.int32) for text in texts]
    form = engine.card.form(OutputKind.TOKENS)
    wants = [Want(tuple((place, place + 1) for place in kept(encoder, own)), form) for own in ids]
    pairs = zip(ids, wants, strict=True)
    rows = engine.step(Batch.pack([Sequence(own, (want,), 0.0, 0.0) for own, want in pairs])).wait(60)
    return [rows.of(index) for index in range(len(texts))]


def documents(encoder: MultiVectorEncoder, texts: list[str]) -> list[np.ndarray]:
    found = encoder.encode_document(texts, batch_size=1, convert_to_numpy=True)
    return [np.asarray(rows) for rows in found]


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize(
    ("layout", "family"),
    [(native, "bert"), (native, "modernbert"), (pylate, "bert"), (pylate, "modernbert"), (stanford, "bert")],
    ids=["native bert", "native modernbert", "pylate bert", "pylate modernbert", "stanford bert"],
)
def test_vectors_of_documents_are_those_of_multi_vector_encoder(tmp_path: Path, layout: Any, family: str) -> None:
    folder = layout(family, tmp_path)
    encoder = MultiVectorEncoder(str(folder), device="cpu")
    engine = Engine.load(folder, EngineOptions(device="cpu", threads=1))
    assert engine.card.outputs == (OutputKind.TOKENS,)
    assert engine.card.token_dimensions == 16
    texts = words(10)
    found = parity(document_rows(engine, encoder, texts), documents(encoder, texts))
    assert found.cosine >= 0.99999
    assert found.error <= 1e-4


@pytest.mark.usefixtures("layers")
def test_vectors_in_bfloat16_are_near_those_of_the_reference(tmp_path: Path) -> None:
    folder = native("bert", tmp_path)
    encoder = MultiVectorEncoder(str(folder), device="cpu")
    engine = Engine.load(folder, EngineOptions(dtype="bfloat16", device="cpu", threads=1))
    texts = words(10)
    assert parity(document_rows(engine, encoder, texts), documents(encoder, texts)).cosine >= 0.999


BREAKS: dict[str, tuple[Any, str, Any]] = {
    "no layer": (rows_dense.Dense, "__call__", lambda dense, rows: rows[:, : dense.out]),
    "no unit norm": (head, "finish", lambda rows, form: rows),
    "the token after": (
        tokens.TokensHead,
        "__call__",
        lambda own, states, part, batch: PLAIN(own, states.roll(-1, 0), part, batch),
    ),
}
PLAIN = tokens.TokensHead.__call__


@pytest.mark.parametrize("name", BREAKS)
def test_a_head_that_is_broken_on_purpose_is_seen(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = native("bert", tmp_path)
    encoder = MultiVectorEncoder(str(folder), device="cpu")
    monkeypatch.setattr(*BREAKS[name])
    engine = Engine.load(folder, EngineOptions(device="cpu", threads=1))
    texts = words(6)
    assert parity(document_rows(engine, encoder, texts), documents(encoder, texts)).error > 1e-2
