"""What DistilBERT has of its own: how its config spells sizes, and positions that may be sines."""

from pathlib import Path

import numpy as np
import pytest
from paritykit.config import respell
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, parity, reference_states
from paritykit.texts import Text, texts
from transformers import DistilBertConfig, DistilBertModel, PreTrainedModel
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.options import EngineOptions

SIZES = {"vocab_size": 60, "dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 48, "max_position_embeddings": 40}
OPTIONS = EngineOptions(device="cpu", threads=1)
TEXTS = texts([1, 9, 40], 60)


@pytest.fixture
def model() -> PreTrainedModel:
    return random_model(DistilBertModel, DistilBertConfig(**SIZES))


@pytest.mark.usefixtures("layers")
def test_positions_that_are_sines_come_with_the_weights(tmp_path: Path) -> None:
    model = DistilBertModel(DistilBertConfig(**SIZES, sinusoidal_pos_embds=True, initializer_range=0.2)).eval()
    engine = Engine.load(save(model, tmp_path / "model"), OPTIONS)
    assert parity(engine_states(engine, TEXTS), reference_states(model, TEXTS)).error <= 1e-4


def test_sizes_are_read_under_the_names_that_other_families_give_them(tmp_path: Path, model: PreTrainedModel) -> None:
    folder = save(model, tmp_path / "model")
    respell(
        folder,
        gone=("dim", "n_layers", "n_heads", "hidden_dim", "activation"),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        hidden_act="gelu",
    )
    found = engine_states(Engine.load(folder, OPTIONS), TEXTS)
    assert parity(found, reference_states(model, TEXTS)).error <= 1e-4


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"n_heads": 3}, "config.json: n_heads 3 does not divide dim 32"),
        ({"dim": None}, "config.json: dim is None"),
        ({"activation": "mish"}, "config.json: activation 'mish' is not supported"),
    ],
)
def test_a_size_that_is_wrong_is_named_as_the_config_does(
    tmp_path: Path, model: PreTrainedModel, changes: dict[str, object], match: str
) -> None:
    folder = save(model, tmp_path / "model")
    respell(folder, **changes)
    with pytest.raises(LoadError, match=match):
        Engine.load(folder, OPTIONS)


def test_types_of_a_tokenizer_change_nothing(tmp_path: Path, model: PreTrainedModel) -> None:
    engine = Engine.load(save(model, tmp_path / "model"), OPTIONS)
    typed = [Text(text.ids, np.ones(text.ids.size, dtype=np.uint8)) for text in TEXTS]
    assert parity(engine_states(engine, typed), engine_states(engine, TEXTS)).error == 0
