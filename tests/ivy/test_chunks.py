"""Splitting and merging: nothing lost, nothing twice, the order and the budget kept."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ivy.chunks import MAX_ROWS, merge, split

lengths = st.lists(st.integers(1, 50), min_size=1, max_size=200)


def _inputs(sizes: list[int]) -> list[list[int]]:
    """Each input is made of its own number, so that a lost or moved one shows."""
    return [[place] * size for place, size in enumerate(sizes)]


@given(sizes=lengths, budget=st.integers(1, 200))
def test_splitting_loses_nothing_and_keeps_order(sizes, budget):
    inputs = _inputs(sizes)
    chunks = split(inputs, budget)
    assert [ids for chunk in chunks for ids in chunk.inputs] == inputs
    assert [chunk.first for chunk in chunks] == np.cumsum([0, *(len(chunk.inputs) for chunk in chunks)])[:-1].tolist()
    assert [chunk.tokens for chunk in chunks] == [sum(map(len, chunk.inputs)) for chunk in chunks]


@given(sizes=lengths, budget=st.integers(1, 200))
def test_a_chunk_keeps_the_budget_and_no_two_neighbours_fit_into_one(sizes, budget):
    chunks = split(_inputs(sizes), budget)
    assert all(chunk.tokens <= budget or len(chunk.inputs) == 1 for chunk in chunks)
    for one, next_one in pairwise(chunks):
        assert one.tokens + len(next_one.inputs[0]) > budget


def test_a_chunk_has_no_more_rows_than_a_message_can_carry():
    chunks = split([[1]] * (2 * MAX_ROWS + 1), 10**9)
    assert [len(chunk.inputs) for chunk in chunks] == [MAX_ROWS, MAX_ROWS, 1]


@given(sizes=lengths, budget=st.integers(1, 200), order=st.randoms(use_true_random=False))
def test_merging_puts_every_row_at_the_place_of_its_input(sizes, budget, order):
    chunks = split(_inputs(sizes), budget)
    order.shuffle(chunks)
    answers = [np.array([[ids[0], len(ids)] for ids in chunk.inputs], dtype=np.float32) for chunk in chunks]
    merged = merge(chunks, answers)
    assert merged.tolist() == [[place, size] for place, size in enumerate(sizes)]


def test_an_answer_with_a_missing_row_is_refused():
    with pytest.raises(ValueError, match="1 rows for 2 inputs"):
        merge(split([[1], [2]], 10), [np.zeros((1, 3), dtype=np.float32)])
