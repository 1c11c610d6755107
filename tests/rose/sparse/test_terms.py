import itertools

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from paritykit.sparse import dense, read_terms
from tulip_rose.rose.lazy import Part
from tulip_rose.rose.sparse.splade import largest
from tulip_rose.rose.sparse.terms import Terms

VOCABULARY = 6
WEIGHTS = st.sampled_from([0.0, -1.0, 0.25, 0.5, 2.0, 3.0])
ROWS = st.lists(st.lists(WEIGHTS, min_size=VOCABULARY, max_size=VOCABULARY), min_size=1, max_size=5)


def rows_of(part: Part) -> list[dict[int, float]]:
    assert part.starts is not None
    return [read_terms(part.rows[a:b]) for a, b in itertools.pairwise(part.starts.tolist())]


def packed(rows: list[list[float]], most: int = VOCABULARY) -> list[dict[int, float]]:
    tensor = largest(torch.tensor(rows, dtype=torch.float32), most)
    return rows_of(Terms.of_dense(tensor.numpy()).packed(np.ones(len(rows), np.bool_)))


@settings(deadline=None, max_examples=60)
@given(ROWS)
def test_packed_rows_hold_every_positive_weight_and_nothing_else(rows: list[list[float]]) -> None:
    expected = np.maximum(np.asarray(rows, np.float32), 0)
    np.testing.assert_array_equal(dense(packed(rows), VOCABULARY), expected)


@settings(deadline=None, max_examples=60)
@given(ROWS, st.integers(1, VOCABULARY))
def test_a_row_keeps_its_largest_weights_and_of_equal_ones_the_lower_terms(rows: list[list[float]], most: int) -> None:
    for found, row in zip(packed(rows, most), rows, strict=True):
        positive = sorted((-weight, term) for term, weight in enumerate(row) if weight > 0)
        assert found == {term: -weight for weight, term in sorted(positive[:most], key=lambda pair: pair[1])}
