"""Encoders broken on purpose: the comparison with the reference sees each break."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paritykit.encoder_breaks import BREAKS
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, parity, reference_states
from paritykit.texts import Text, texts
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)
from tulip_rose.rose import device
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions

LENGTHS = [1, 2, 15, 16, 17, 17, 128]
PADDING = 1
SIZES: dict[str, Any] = {
    "vocab_size": 90,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 300,
}
DISTIL: dict[str, Any] = {"vocab_size": 90, "dim": 64, "hidden_dim": 96, "n_layers": 2, "n_heads": 4}
FAMILIES: dict[str, Callable[[], PreTrainedModel]] = {
    "bert": lambda: random_model(BertModel, BertConfig(**SIZES)),
    "roberta": lambda: random_model(XLMRobertaModel, XLMRobertaConfig(**SIZES, type_vocab_size=1)),
    "distilbert": lambda: random_model(DistilBertModel, DistilBertConfig(**DISTIL, max_position_embeddings=300)),
    "mpnet": lambda: random_model(MPNetModel, MPNetConfig(**SIZES)),
}
PAIRS = [(name, family) for name, (families, _) in BREAKS.items() for family in families]


def inputs(family: str) -> list[Text]:
    """With types where there are two, with padding inside of a text where it is not counted."""
    found = texts(LENGTHS, 90, paired=family == "bert")
    if family in ("roberta", "mpnet"):
        found[-1].ids[50:53] = PADDING
    return [Text(np.ascontiguousarray(text.ids), text.types) for text in found]


@pytest.fixture
def equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], bool]:
    """Whether an engine of a family is the reference, as the tests of the families ask it."""
    monkeypatch.setattr(device, "serves", lambda dtype: False)

    def ask(family: str) -> bool:
        model = FAMILIES[family]()
        engine = Engine.load(save(model, tmp_path / family), EngineOptions(device="cpu", threads=1))
        found = parity(engine_states(engine, inputs(family)), reference_states(model, inputs(family)))
        print(found)
        return found.cosine >= 0.99999 and found.error <= 1e-4

    return ask


@pytest.mark.parametrize("family", FAMILIES)
def test_unbroken_it_is_the_reference(equal: Callable[[str], bool], family: str) -> None:
    assert equal(family)


@pytest.mark.parametrize(("name", "family"), PAIRS)
def test_broken_it_is_not(
    equal: Callable[[str], bool], monkeypatch: pytest.MonkeyPatch, name: str, family: str
) -> None:
    BREAKS[name][1](monkeypatch)
    assert not equal(family)
