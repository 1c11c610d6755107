"""Tokens at the end of a sequence that see the others and are seen by none."""

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from paritykit.folder import random_model, save
from paritykit.measure import parity
from transformers import (
    BertConfig,
    BertModel,
    ModernBertConfig,
    ModernBertModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedModel,
    Qwen3Config,
    Qwen3Model,
)
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.options import EngineOptions
from tulip_rose.sequence import OutputForm, Sequence, Want

SIZES: dict[str, Any] = {
    "vocab_size": 80,
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "pad_token_id": 0,
}
MARKS = {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
MODELS: dict[str, tuple[type[PreTrainedModel], Any]] = {
    "bert": (BertModel, BertConfig(**SIZES)),
    "modernbert": (ModernBertModel, ModernBertConfig(**SIZES, **MARKS, local_attention=16)),
    "mpnet": (MPNetModel, MPNetConfig(**{**SIZES, "pad_token_id": 1})),
    "qwen3": (Qwen3Model, Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=16, use_cache=False)),
}
UNSEEN = [(12, 0), (12, 5), (12, 5), (12, 11), (9, 8), (40, 7), (40, 0), (1, 0)]
"""Tokens of each sequence, and how many of them none sees."""


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize("family", MODELS)
def test_tokens_that_none_sees_are_those_that_the_reference_masks(tmp_path: Path, family: str) -> None:
    model = random_model(*MODELS[family])
    engine = Engine.load(save(model, tmp_path / "model"), EngineOptions(device="cpu", threads=1))
    rng = np.random.default_rng(1)
    ids = [rng.integers(4, 80, length).astype(np.int32) for length, _ in UNSEEN]
    form = OutputForm(64, normalize=False)
    sequences = [
        Sequence(own, (Want(tuple((at, at + 1) for at in range(own.size)), form),), 0.0, inf, unseen=unseen)
        for own, (_, unseen) in zip(ids, UNSEEN, strict=True)
    ]
    rows = engine.step(Batch.pack(sequences)).wait(60)
    expected = [_states(model, own, unseen) for own, (_, unseen) in zip(ids, UNSEEN, strict=True)]
    found = parity([rows.of(index) for index in range(len(ids))], expected)
    assert found.cosine >= 0.99999
    assert found.error <= 1e-3


@pytest.mark.parametrize("family", MODELS)
def test_tokens_that_are_seen_all_the_same_are_noticed(
    tmp_path: Path, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(*MODELS[family])
    engine = Engine.load(save(model, tmp_path / "model"), EngineOptions(device="cpu", threads=1))
    whole = Ragged.of
    monkeypatch.setattr(Ragged, "of", staticmethod(lambda batch: replace(whole(batch), partly=None)))
    ids = np.arange(4, 16, dtype=np.int32)
    form = OutputForm(64, normalize=False)
    want = Want(tuple((at, at + 1) for at in range(12)), form)
    rows = engine.step(Batch.pack([Sequence(ids, (want,), 0.0, inf, unseen=5)])).wait(60)
    assert parity([rows.of(0)], [_states(model, ids, 5)]).error > 1e-2


def _states(model: PreTrainedModel, ids: np.ndarray, unseen: int) -> np.ndarray:
    tokens = torch.from_numpy(ids.astype(np.int64))[None]
    mask = torch.ones_like(tokens)
    mask[0, ids.size - unseen :] = 0
    with torch.inference_mode():
        return model(input_ids=tokens, attention_mask=mask).last_hidden_state[0].numpy()
