"""bge-m3: three outputs of one pass, as its authors define them."""

import json
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from paritykit.folder import random_model, save
from paritykit.measure import parity
from paritykit.sparse import dense, read_terms
from paritykit.words import VOCABULARY, save_tokenizer, words
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedModel, XLMRobertaConfig, XLMRobertaModel
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.lazy import Rows
from tulip_rose.rose.options import EngineOptions
from tulip_rose.rose.sparse.lexical import LexicalHead
from tulip_rose.sequence import OutputKind, Sequence, Want

HIDDEN = 32
CONFIG = XLMRobertaConfig(
    vocab_size=VOCABULARY,
    hidden_size=HIDDEN,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=48,
    pad_token_id=0,
    bos_token_id=2,
    eos_token_id=3,
)
KINDS = (OutputKind.DENSE, OutputKind.SPARSE, OutputKind.TOKENS)
NO_WORDS = [0, 1, 2, 3]
"""Padding, unknown, begin and end, in the tokenizer of these tests."""


class ThreeHeads:
    """The reference: a base model and the two layers beside it."""

    def __init__(self, folder: Path) -> None:
        self.model: PreTrainedModel = random_model(XLMRobertaModel, CONFIG)
        self.sparse = {"weight": torch.randn(1, HIDDEN), "bias": torch.randn(1)}
        self.colbert = {"weight": torch.randn(HIDDEN, HIDDEN), "bias": torch.randn(HIDDEN)}
        self.folder = save(self.model, folder, "cls", normalize=True)
        self.tokenizer = save_tokenizer(self.folder)
        save_file(self.sparse, self.folder / "sparse_linear.safetensors")
        save_file(self.colbert, self.folder / "colbert_linear.safetensors")

    def ids(self, text: str) -> np.ndarray:
        return np.asarray(self.tokenizer(text)["input_ids"], np.int32)

    @torch.inference_mode()
    def __call__(self, text: str) -> tuple[Tensor, Tensor, Tensor]:
        """The dense vector, the weight of each term, and the vectors of all tokens but the first."""
        ids = torch.from_numpy(self.ids(text).astype(np.int64))
        states = self.model(input_ids=ids[None]).last_hidden_state[0]
        weights = torch.relu(functional.linear(states, **self.sparse))[:, 0]
        terms = torch.zeros(VOCABULARY)
        for token, weight in zip(ids.tolist(), weights, strict=True):
            if token not in NO_WORDS:
                terms[token] = max(terms[token], weight)
        tokens = functional.normalize(functional.linear(states[1:], **self.colbert), dim=1)
        return functional.normalize(states[0], dim=0), terms, tokens


@pytest.fixture
def three(tmp_path: Path) -> ThreeHeads:
    return ThreeHeads(tmp_path / "model")


def one_pass(engine: Engine, ids: list[np.ndarray]) -> Rows:
    """All three outputs of each text; of its tokens all but the first."""
    dense_form, sparse_form, tokens_form = (engine.card.form(kind) for kind in KINDS)

    def wants(size: int) -> tuple[Want, ...]:
        tokens = tuple((place, place + 1) for place in range(1, size))
        return Want(((0, size),), dense_form), Want(((0, size),), sparse_form), Want(tokens, tokens_form)

    return engine.step(Batch.pack([Sequence(own, wants(own.size), 0.0, inf) for own in ids])).wait(60)


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize(
    ("dtype", "least", "most"), [("float32", 0.99999, 1e-4), ("bfloat16", 0.999, inf)], ids=["float32", "bfloat16"]
)
def test_three_outputs_of_one_pass_are_those_of_the_definition(
    three: ThreeHeads, dtype: str, least: float, most: float
) -> None:
    engine = Engine.load(three.folder, EngineOptions(dtype=dtype, device="cpu", threads=1))
    assert engine.card.outputs == KINDS
    assert engine.card.token_dimensions == HIDDEN
    texts = words(12)
    rows, expected = one_pass(engine, [three.ids(text) for text in texts]), [three(text) for text in texts]
    sparse = dense([read_terms(rows.of(index, 1)) for index in range(len(texts))], VOCABULARY)
    for found in (
        parity([rows.of(index) for index in range(len(texts))], [own[0][None].numpy() for own in expected]),
        parity([sparse], [torch.stack([own[1] for own in expected]).numpy()]),
        parity([rows.of(index, 2) for index in range(len(texts))], [own[2].numpy() for own in expected]),
    ):
        assert found.cosine >= least
        assert found.error <= most


BREAKS: dict[str, Any] = {
    "ends of a text are words": lambda head, *given: setattr(head, "_unused", head._unused[:0]) or PLAIN(head, *given),
    "no bias": lambda head, *given: setattr(head, "_bias", 0 * head._bias) or PLAIN(head, *given),
    "the token after": lambda head, states, *given: PLAIN(head, states.roll(-1, 0), *given),
}
PLAIN = LexicalHead.__call__


@pytest.mark.parametrize("name", BREAKS)
def test_a_sparse_head_that_is_broken_on_purpose_is_seen(
    three: ThreeHeads, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LexicalHead, "__call__", BREAKS[name])
    engine = Engine.load(three.folder, EngineOptions(device="cpu", threads=1))
    texts = words(6)
    rows = one_pass(engine, [three.ids(text) for text in texts])
    found = dense([read_terms(rows.of(index, 1)) for index in range(len(texts))], VOCABULARY)
    assert np.abs(found - torch.stack([three(text)[1] for text in texts]).numpy()).max() > 1e-2


def test_pickles_beside_the_model_are_not_read_and_it_is_served_without_them(
    three: ThreeHeads, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("sparse_linear", "colbert_linear"):
        (three.folder / f"{name}.safetensors").rename(three.folder / f"{name}.pt")
    assert Engine.load(three.folder, EngineOptions(device="cpu", threads=1)).card.outputs == (OutputKind.DENSE,)
    told = [record.getMessage() for record in caplog.records]
    assert sum("is a pickle and is not read" in line for line in told) == 2


WHOLE = {"weight": torch.zeros(1, HIDDEN), "bias": torch.zeros(1)}


@pytest.mark.parametrize(
    ("name", "tensors", "words"),
    [
        ("sparse_linear", {"weight": torch.zeros(1, HIDDEN)}, "tensor bias is missing"),
        (
            "sparse_linear",
            {"weight": torch.zeros(2, HIDDEN), "bias": torch.zeros(1)},
            "tensor weight is torch.float32 of",
        ),
        ("sparse_linear", {**WHOLE, "gamma": torch.zeros(1)}, "tensor gamma is not part of"),
        ("sparse_linear", {**WHOLE, "bias": torch.tensor([torch.nan])}, "tensor bias holds a value that is not finite"),
        ("colbert_linear", {"weight": torch.zeros(HIDDEN, 8), "bias": torch.zeros(HIDDEN)}, r"shape \[32, 8\]"),
    ],
)
def test_a_layer_that_is_not_as_it_should_be_stops_the_load(
    three: ThreeHeads, name: str, tensors: dict[str, Any], words: str
) -> None:
    save_file(tensors, three.folder / f"{name}.safetensors")
    with pytest.raises(LoadError, match=rf"{name}\.safetensors: .*{words}"):
        Engine.load(three.folder, EngineOptions(device="cpu", threads=1))


def test_a_tokenizer_that_does_not_tell_its_special_tokens_stops_the_load(three: ThreeHeads) -> None:
    path = three.folder / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "added_tokens": []}))
    with pytest.raises(LoadError, match=r"tokenizer\.json: token .* has no id"):
        Engine.load(three.folder, EngineOptions(device="cpu", threads=1))
