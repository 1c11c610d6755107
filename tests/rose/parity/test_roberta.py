"""What RoBERTa, XLM-R and CamemBERT have of their own: positions that do not count padding, and begin behind it."""

import json
from pathlib import Path

import numpy as np
import pytest
from paritykit.config import respell
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, engine_vectors, parity, reference_states
from paritykit.texts import Text, texts
from transformers import PreTrainedModel, XLMRobertaConfig, XLMRobertaModel
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError, StepError
from tulip_rose.rose.options import EngineOptions

SIZES = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 514,
    "type_vocab_size": 1,
}
OPTIONS = EngineOptions(device="cpu", threads=1)


@pytest.fixture
def model() -> PreTrainedModel:
    return random_model(XLMRobertaModel, XLMRobertaConfig(**SIZES))


@pytest.mark.usefixtures("layers")
def test_511_and_512_tokens_have_positions_and_513_to_515_are_refused(tmp_path: Path, model: PreTrainedModel) -> None:
    engine = Engine.load(save(model, tmp_path / "model"), OPTIONS)
    assert engine.card.max_input_tokens == 512
    inputs = texts([511, 512], 60)
    assert parity(engine_states(engine, inputs), reference_states(model, inputs)).error <= 1e-4
    for text in texts([513, 514, 515], 60):
        with pytest.raises(StepError, match="tokens in a model of 512 positions"):
            engine_states(engine, [text])


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize(("dtype", "least"), [("float32", 0.99999), ("bfloat16", 0.999)])
def test_the_mean_of_8192_tokens_is_that_of_the_reference(tmp_path: Path, dtype: str, least: float) -> None:
    model = random_model(XLMRobertaModel, XLMRobertaConfig(**{**SIZES, "max_position_embeddings": 8194}))
    engine = Engine.load(save(model, tmp_path / "model"), EngineOptions(dtype=dtype, device="cpu", threads=1))
    assert engine.card.max_input_tokens == 8192
    inputs = texts([8192, 3], 60)
    expected = [states.mean(0, keepdims=True) for states in reference_states(model, inputs)]
    assert parity(engine_vectors(engine, inputs), expected).cosine >= least


def test_a_limit_of_514_tokens_in_a_file_is_cut_to_those_that_have_positions(
    tmp_path: Path, model: PreTrainedModel
) -> None:
    folder = save(model, tmp_path / "model")
    (folder / "sentence_xlm-roberta_config.json").write_text(json.dumps({"max_seq_length": 514}))
    assert Engine.load(folder, OPTIONS).card.max_input_tokens == 512
    with pytest.raises(LoadError, match="maxInputTokens 514 is not between 1 and the 512 positions"):
        Engine.load(folder, EngineOptions(device="cpu", threads=1, max_input_tokens=514))


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize("padding", [0, 1, 5])
def test_padding_within_a_text_is_not_counted(tmp_path: Path, padding: int) -> None:
    model = random_model(XLMRobertaModel, XLMRobertaConfig(**SIZES, pad_token_id=padding))
    engine = Engine.load(save(model, tmp_path / "model"), OPTIONS)
    assert engine.card.max_input_tokens == 514 - padding - 1
    inputs = texts([1, 20, 20, 64, 200], 60, first=6)
    for text in inputs:
        text.ids[::3] = padding
    assert parity(engine_states(engine, inputs), reference_states(model, inputs)).error <= 1e-4


def test_types_of_a_tokenizer_change_nothing_where_the_model_has_one(tmp_path: Path, model: PreTrainedModel) -> None:
    engine = Engine.load(save(model, tmp_path / "model"), OPTIONS)
    [text] = texts([9], 60)
    typed = Text(text.ids, np.ones(9, dtype=np.uint8))
    assert parity(engine_states(engine, [typed]), engine_states(engine, [text])).error == 0


@pytest.mark.parametrize("padding", [-1, 513, "<pad>", None])
def test_padding_that_leaves_no_positions_is_refused(tmp_path: Path, model: PreTrainedModel, padding: object) -> None:
    folder = save(model, tmp_path / "model")
    respell(folder, pad_token_id=padding)
    with pytest.raises(LoadError, match=r"config.json: pad_token_id is .*, a number below 513 was expected"):
        Engine.load(folder, OPTIONS)
