"""What MPNet has of its own: attention that leans by the distance of tokens."""

from pathlib import Path

import pytest
import torch
from paritykit.config import respell
from paritykit.folder import random_model, save
from paritykit.measure import engine_states, parity, reference_states
from paritykit.texts import texts
from transformers import MPNetConfig, MPNetModel, PreTrainedModel
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.models.mpnet import bucket
from tulip_rose.rose.options import EngineOptions

OPTIONS = EngineOptions(device="cpu", threads=1)


@pytest.fixture
def model() -> PreTrainedModel:
    config = MPNetConfig(
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=514,
    )
    return random_model(MPNetModel, config)


def test_each_distance_has_the_bucket_of_the_reference() -> None:
    distances = torch.arange(-4096, 4097)
    assert torch.equal(bucket(distances), MPNetEncoder.relative_position_bucket(distances))


@pytest.mark.usefixtures("layers")
def test_padding_within_a_text_is_not_counted_but_is_a_token_to_lean_to(tmp_path: Path, model: PreTrainedModel) -> None:
    engine = Engine.load(save(model, tmp_path / "model"), OPTIONS)
    inputs = texts([1, 20, 20, 64, 200], 60, first=6)
    for text in inputs:
        text.ids[::3] = 1
    assert parity(engine_states(engine, inputs), reference_states(model, inputs)).error <= 1e-4


def test_another_number_of_buckets_is_refused(tmp_path: Path, model: PreTrainedModel) -> None:
    folder = save(model, tmp_path / "model")
    respell(folder, relative_attention_num_buckets=64)
    with pytest.raises(LoadError, match=r"config.json: relative_attention_num_buckets 64 is not supported"):
        Engine.load(folder, OPTIONS)
