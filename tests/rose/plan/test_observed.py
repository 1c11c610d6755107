"""What was seen, as counts, or as two histograms that have to be put together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tulip_rose.rose.graphs.key import Buckets
from tulip_rose.rose.graphs.prewarm import keys_of
from tulip_rose.rose.plan.buckets import Budget, judge
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
def test_values_fall_into_their_buckets_as_often_as_they_were_counted(found: list[int]) -> None:
    values = Histogram(EDGES, tuple(found)).at(np.arange(1, 1001) / 1000)
    again = np.histogram(values, bins=(0.5, *(edge + 0.5 for edge in EDGES)))[0] / 1000
    assert again == pytest.approx(np.array(found) / sum(found), abs=0.0011)
    assert values.tolist() == sorted(values.tolist())


@settings(max_examples=20, deadline=None)
@given(counts, counts)
def test_the_largest_values_are_kept_however_rare(sequences: list[int], tokens: list[int]) -> None:
    seen = Observed.coupled(Histogram(EDGES, tuple(sequences)), Histogram(EDGES, tuple(tokens)))
    largest = [max(edge for edge, count in zip(EDGES, found, strict=True) if count) for found in (sequences, tokens)]
    assert (seen.sequences.max(), seen.tokens.max()) == (min(largest), largest[1])


@settings(max_examples=20, deadline=None)
@given(counts, counts)
def test_coupled_batches_hold_a_token_a_sequence_and_are_as_many_as_were_counted(
    sequences: list[int], tokens: list[int]
) -> None:
    seen = Observed.coupled(Histogram(EDGES, tuple(sequences)), Histogram(EDGES, tuple(tokens)))
    assert (seen.sequences >= 1).all()
    assert (seen.sequences <= seen.tokens).all()
    assert seen.counts.sum() == pytest.approx(sum(tokens))


def test_each_of_two_coupled_histograms_is_still_what_it_was() -> None:
    sequences, tokens = Histogram((1, 8, 64), (80, 15, 5)), Histogram((128, 1024, 8192), (70, 20, 10))
    seen = Observed.coupled(sequences, tokens)
    for values, histogram in ((seen.sequences, sequences), (seen.tokens, tokens)):
        again = np.histogram(values, bins=(0.5, *(edge + 0.5 for edge in histogram.edges)), weights=seen.counts)[0]
        assert again == pytest.approx(np.array(histogram.counts), abs=0.5)


def test_coupled_batches_of_more_tokens_have_more_sequences_as_a_rule_and_not_always() -> None:
    seen = Observed.coupled(Histogram((1, 64), (50, 50)), Histogram((512, 4096), (50, 50)))
    large = seen.tokens > 512
    single = [float(seen.counts[half & (seen.sequences == 1)].sum()) for half in (large, ~large)]
    assert 0 < single[0] < 10
    assert 40 < single[1] < 50
    assert repr(seen) == "100 batches of 1 to 64 sequences and 2 to 4,096 tokens"


def test_histograms_that_counted_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="no batch was seen"):
        Observed.coupled(Histogram((1,), (0,)), Histogram((1,), (5,)))


def test_more_tokens_than_the_sequences_can_have_are_refused() -> None:
    with pytest.raises(ValueError, match="2 sequences of at most 512 tokens never have 1025"):
        Observed.of({(2, 1025): 1}, 512)
    assert Observed.of({(2, 1024): 1}, 512).tokens.tolist() == [1024]


@settings(max_examples=20, deadline=None)
@given(counts, counts, st.sampled_from([16, 512]))
def test_graphs_of_two_histograms_are_of_batches_that_a_model_can_get(
    sequences: list[int], tokens: list[int], longest: int
) -> None:
    histograms = Histogram(EDGES, tuple(sequences)), Histogram(EDGES, tuple(tokens))
    seen = Observed.coupled(*histograms, longest)
    assert (seen.tokens <= seen.sequences * longest).all()
    plan = judge(seen, Buckets(slots=(2, 8, 512, 4096)), Budget())
    # What an engine asks of the list before it starts.
    keys_of([(graph.tokens, graph.slots) for graph in plan.prewarm], plan.buckets, longest, None)


def test_without_a_longest_input_a_graph_may_be_one_that_an_engine_refuses() -> None:
    plan = judge(Observed.coupled(Histogram((1,), (9,)), Histogram((4096,), (9,))), Buckets(), Budget())
    with pytest.raises(ValueError, match="never have"):
        keys_of([(graph.tokens, graph.slots) for graph in plan.prewarm], plan.buckets, 512, None)
