"""What was seen, as counts, or as two histograms that have to be put together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tulip_rose.rose.plan.observed import Histogram, Observed

EDGES = (1, 2, 4, 8, 16, 64)
counts = st.lists(st.integers(0, 1000), min_size=6, max_size=6).filter(any)


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        ({}, "no batch was seen"),
        ({(1, 2): 0}, "no batch was seen"),
        ({(3, 2): 1}, "1 batches of 3 sequences and 2 tokens cannot be"),
        ({(0, 2): 1}, "cannot be"),
        ({(1, 2): -1}, "-1 batches of 1 sequences and 2 tokens cannot be"),
        ({(1, 2): float("nan")}, "cannot be"),
    ],
)
def test_what_cannot_have_been_seen_is_refused(seen: dict[tuple[int, int], float], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Observed.of(seen)


@given(counts)
def test_spread_values_fall_into_their_buckets_as_often_as_they_were_counted(found: list[int]) -> None:
    values = Histogram(EDGES, tuple(found)).spread(1000)
    again = np.histogram(values, bins=(0.5, *(edge + 0.5 for edge in EDGES)))[0] / 1000
    assert again == pytest.approx(np.array(found) / sum(found), abs=0.0011)
    assert values.tolist() == sorted(values.tolist())


@given(counts)
def test_the_largest_value_is_kept_however_rare(found: list[int]) -> None:
    largest = max(edge for edge, count in zip(EDGES, found, strict=True) if count)
    assert Histogram(EDGES, tuple(found)).spread(100)[-1] == largest


@given(counts, counts)
def test_coupled_batches_hold_a_token_a_sequence_and_are_as_many_as_were_counted(
    sequences: list[int], tokens: list[int]
) -> None:
    seen = Observed.coupled(Histogram(EDGES, tuple(sequences)), Histogram(EDGES, tuple(tokens)))
    assert (seen.sequences >= 1).all()
    assert (seen.sequences <= seen.tokens).all()
    assert seen.counts.sum() == pytest.approx(sum(tokens))


def test_of_two_coupled_batches_the_one_with_more_tokens_has_no_fewer_sequences() -> None:
    seen = Observed.coupled(Histogram((1, 8), (50, 50)), Histogram((64, 4096), (50, 50)))
    order = np.argsort(seen.tokens, kind="stable")
    assert (np.diff(seen.sequences[order]) >= 0).all()
    assert seen.sequences[seen.tokens <= 64].max() == 1
    assert repr(seen) == "100 batches of 1 to 8 sequences and 1 to 4,096 tokens"


def test_histograms_that_counted_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="no batch was seen"):
        Observed.coupled(Histogram((1,), (0,)), Histogram((1,), (5,)))
