"""Poolings against those of `SentenceTransformer`."""

from itertools import pairwise
from typing import Any

import pytest
from paritykit.measure import parity
from paritykit.sentences import TEXTS, check, expected, load, vectors
from sentence_transformers.sentence_transformer.modules import Pooling

HIDDEN = 32
MODES = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]


@pytest.mark.parametrize("mode", MODES)
def test_each_pooling_is_that_of_the_reference(save: Any, mode: str) -> None:
    check(*save([Pooling(HIDDEN, mode)]))


@pytest.mark.parametrize("modes", [*pairwise(MODES), ("mean", "cls"), tuple(MODES)], ids="+".join)
def test_joined_poolings_lie_in_the_order_of_the_file(save: Any, modes: tuple[str, ...]) -> None:
    check(*save([Pooling(HIDDEN, modes)]))


@pytest.mark.parametrize("mode", MODES)
def test_a_prompt_that_is_not_pooled_is_seen_all_the_same(save: Any, mode: str) -> None:
    prompt = "a b c : "
    model, folder = save([Pooling(HIDDEN, mode, include_prompt=False)], prompts={"query": prompt})
    engine = load(folder)
    assert engine.card.include_prompt is False
    texts = [text for text in TEXTS if len(text) < 100]
    found = vectors(engine, model, [prompt + text for text in texts], skip=5)
    assert parity(found, expected(model, texts, prompt_name="query")).cosine >= 0.99999
    assert parity(found, expected(model, texts)).cosine < 0.999
