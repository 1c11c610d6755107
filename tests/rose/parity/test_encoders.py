"""Encoders in the manner of BERT, each against its class in transformers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from paritykit.folder import RANGE, random_model, save
from paritykit.measure import engine_states, engine_vectors, parity, reference_states
from paritykit.texts import texts
from transformers import (
    BertConfig,
    BertModel,
    CamembertConfig,
    CamembertModel,
    DistilBertConfig,
    DistilBertModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedModel,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions

VOCABULARY, POSITIONS = 200, 512
LENGTHS = [1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 511, 512, 64, 64, 1, 300]
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "max_position_embeddings": POSITIONS,
}
COUNTED = {**SIZES, "max_position_embeddings": POSITIONS + 2}
LARGE = {"hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096, "num_hidden_layers": 2}
DISTIL = {"dim": 64, "n_layers": 3, "n_heads": 4, "hidden_dim": 96, "max_position_embeddings": POSITIONS}


@dataclass(frozen=True, slots=True)
class Family:
    """A class of transformers and a configuration of it."""

    model: Callable[[Any], PreTrainedModel]
    config: Any
    paired: bool = False
    spread: float = RANGE


FAMILIES = {
    "BERT": Family(BertModel, BertConfig(**SIZES)),
    "BERT, pairs": Family(BertModel, BertConfig(**SIZES), paired=True),
    "BERT, heads of 32": Family(BertModel, BertConfig(**{**SIZES, "num_attention_heads": 2})),
    "BERT, heads of 8": Family(BertModel, BertConfig(**{**SIZES, "num_attention_heads": 8})),
    "BERT, tanh": Family(BertModel, BertConfig(**SIZES, hidden_act="gelu_new")),
    "BERT, large": Family(BertModel, BertConfig(**{**SIZES, **LARGE}), paired=True, spread=RANGE / 4),
    "RoBERTa": Family(RobertaModel, RobertaConfig(**COUNTED, type_vocab_size=1, layer_norm_eps=1e-5)),
    "RoBERTa, pairs": Family(RobertaModel, RobertaConfig(**COUNTED, type_vocab_size=2), paired=True),
    "XLM-R": Family(XLMRobertaModel, XLMRobertaConfig(**COUNTED, type_vocab_size=1, layer_norm_eps=1e-5)),
    "XLM-R, large": Family(
        XLMRobertaModel, XLMRobertaConfig(**{**COUNTED, **LARGE}, type_vocab_size=1), spread=RANGE / 4
    ),
    "CamemBERT": Family(CamembertModel, CamembertConfig(**COUNTED, type_vocab_size=1, layer_norm_eps=1e-5)),
    "MPNet": Family(MPNetModel, MPNetConfig(**COUNTED)),
    "MPNet, heads of 8": Family(MPNetModel, MPNetConfig(**{**COUNTED, "num_attention_heads": 8})),
    "DistilBERT": Family(DistilBertModel, DistilBertConfig(vocab_size=VOCABULARY, **DISTIL)),
}


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES)
def family(request: pytest.FixtureRequest) -> Family:
    found: Family = request.param
    return found


@pytest.mark.usefixtures("layers")
def test_each_token_of_a_mixed_batch_is_that_of_the_reference(
    tmp_path: Path, family: Family, record_property: Callable[[str, object], None]
) -> None:
    model = random_model(family.model, family.config, spread=family.spread)
    engine = Engine.load(save(model, tmp_path / "model"), EngineOptions(device="cpu", threads=1))
    inputs = texts(LENGTHS, VOCABULARY, paired=family.paired)
    found = parity(engine_states(engine, inputs), reference_states(model, inputs))
    record_property("parity", found)
    print(found)
    assert engine.card.max_input_tokens == POSITIONS
    assert found.cosine >= 0.99999
    assert found.error <= 1e-4


@pytest.mark.usefixtures("layers")
def test_vectors_in_bfloat16_are_those_of_the_reference(
    tmp_path: Path, family: Family, record_property: Callable[[str, object], None]
) -> None:
    model = random_model(family.model, family.config, spread=family.spread)
    engine = Engine.load(save(model, tmp_path / "model"), EngineOptions(dtype="bfloat16", device="cpu", threads=1))
    inputs = texts(LENGTHS, VOCABULARY, paired=family.paired)
    expected = [states.mean(0, keepdims=True) for states in reference_states(model, inputs)]
    found = parity(engine_vectors(engine, inputs), expected)
    record_property("parity", found)
    print(found)
    assert found.cosine >= 0.999


@pytest.mark.usefixtures("layers")
def test_a_text_alone_equals_itself_among_others(tmp_path: Path, family: Family) -> None:
    model = random_model(family.model, family.config, spread=family.spread)
    engine = Engine.load(save(model, tmp_path / "model"), EngineOptions(device="cpu", threads=1))
    own = texts([1, 15, 16, 64, 200], VOCABULARY, paired=family.paired)
    others = texts([1, 300, *[15, 64] * 8], VOCABULARY, seed=5)
    alone = [engine_states(engine, [text])[0] for text in own]
    assert parity(engine_states(engine, own + others)[: len(own)], alone).error <= 2e-5


@pytest.mark.gpu
def test_cuda_gives_the_states_of_the_reference(tmp_path: Path, family: Family) -> None:
    model = random_model(family.model, family.config, spread=family.spread)
    engine = Engine.load(save(model, tmp_path / "model"), EngineOptions(device="cuda"))
    inputs = texts(LENGTHS, VOCABULARY, paired=family.paired)
    assert parity(engine_states(engine, inputs), reference_states(model, inputs)).cosine >= 0.99999
