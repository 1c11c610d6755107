"""Vectors over HTTP against sentence-transformers, and a text alone against the same text among others."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from roadkit.http import embed
from roadkit.stack import Stack, Starter
from tokenizers import Tokenizer

pytestmark = pytest.mark.processes

_SAME = 1e-5


@pytest.fixture(scope="module")
def bfloat16(starter: Starter) -> Iterator[Stack]:
    stack = starter.stack(starter.engine("--dtype", "bfloat16", name="engine-bfloat16"))
    yield stack
    starter.stop(*stack.programs)


def _cosines(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float64]:
    units = [
        each / np.linalg.norm(each, axis=1, keepdims=True) for each in (a.astype(np.float64), b.astype(np.float64))
    ]
    cosines: NDArray[np.float64] = np.sum(units[0] * units[1], axis=1)
    return cosines


def test_the_corpus_is_what_the_bar_asks_for(corpus: list[str], tokenizer: Tokenizer) -> None:
    lengths = [len(tokenizer.encode(text)) for text in corpus]
    assert len(corpus) == 200
    assert {3, 64, 128, 255, 256} <= set(lengths)
    assert min(lengths) >= 3
    assert max(lengths) == 256


def test_float32_vectors_are_those_of_sentence_transformers(
    stack: Stack, corpus: list[str], reference: NDArray[np.float32]
) -> None:
    cosines = _cosines(embed(stack.url, corpus).vectors, reference)
    assert cosines.min() >= 0.99999, f"text {cosines.argmin()}: {cosines.min():.7f}"


def test_bfloat16_vectors_are_close_to_those_of_sentence_transformers(
    bfloat16: Stack, corpus: list[str], reference: NDArray[np.float32]
) -> None:
    cosines = _cosines(embed(bfloat16.url, corpus).vectors, reference)
    assert cosines.min() >= 0.9995, f"text {cosines.argmin()}: {cosines.min():.6f}"


def test_vectors_have_unit_norm_and_floats_equal_base64(stack: Stack, corpus: list[str]) -> None:
    packed = embed(stack.url, corpus[:20]).vectors
    written = embed(stack.url, corpus[:20], encoding_format="float").vectors
    assert np.abs(np.linalg.norm(packed, axis=1) - 1).max() < 1e-6
    assert np.abs(written - packed).max() < 1e-6


@pytest.mark.parametrize("size", [15, 16, 17, 64])
def test_a_text_alone_equals_the_same_text_in_a_batch(stack: Stack, corpus: list[str], size: int) -> None:
    batch = corpus[size : 2 * size]
    among = embed(stack.url, batch).vectors
    for place in (0, size // 2, size - 1):
        alone = embed(stack.url, batch[place]).vectors[0]
        assert np.abs(alone - among[place]).max() < _SAME, f"at place {place} of {size}"


@pytest.mark.parametrize("length", [5, 64, 128])
def test_a_text_alone_equals_the_same_text_among_equal_lengths(stack: Stack, length: int) -> None:
    ids = [[101, *range(1000 + 50 * row, 1000 + 50 * row + length - 2), 102] for row in range(16)]
    batch = embed(stack.url, ids).vectors
    for row in (0, 7, 15):
        assert np.abs(embed(stack.url, [ids[row]]).vectors[0] - batch[row]).max() < _SAME


def test_a_batch_is_answered_in_the_order_it_was_asked(stack: Stack, corpus: list[str]) -> None:
    forward = embed(stack.url, corpus[:40]).vectors
    backward = embed(stack.url, corpus[:40][::-1]).vectors
    assert np.abs(forward - backward[::-1]).max() < _SAME
