import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertModel
from tulip_rose.rose.layers.kit import Kit, NativeKit, TorchKit
from tulip_rose.rose.native.library import Team, missing

CONFIG = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 70,
    "initializer_range": 0.2,
}
MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
]


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))


@pytest.fixture
def edit() -> Callable[..., None]:
    """Change keys of a JSON file; None takes a key away."""

    def change(path: Path, **keys: Any) -> None:
        value = {**json.loads(path.read_text()), **keys}
        path.write_text(json.dumps({key: own for key, own in value.items() if own is not None}))

    return change


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A small BERT with large random weights, so that a wrong mask, norm or position shows."""
    torch.manual_seed(3)
    folder = tmp_path / "tiny"
    BertModel(BertConfig(**CONFIG)).save_pretrained(folder)
    write_json(folder / "modules.json", MODULES)
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})
    return folder


@pytest.fixture(params=[torch.float32, torch.bfloat16], ids=str)
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    return request.param


@pytest.fixture(params=["torch", "native alone", "native team"])
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """The layers of a CPU, each way that there is; more threads than cores, so that some are taken off."""
    if request.param == "torch":
        yield TorchKit(torch.device("cpu"), "auto")
        return
    reason = missing("bfloat16")
    if reason is not None and "processor" in reason:
        pytest.skip(reason)
    team = Team(1 if "alone" in request.param else 4)
    yield NativeKit(team, "auto")
    team.close()
