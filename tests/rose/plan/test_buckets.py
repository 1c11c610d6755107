"""The bucket planner: its plans hold what they promise on any batches, and none considered is better."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tulip_rose.rose.plan.buckets import MOST_PREWARMED, MULTIPLES, Budget, Plan, judge, propose, schemes
from tulip_rose.rose.plan.observed import Observed
from tulip_rose.rose.plan.scheme import DEFAULT, Scheme

Counts = dict[tuple[int, int], int]
kinds = st.tuples(st.integers(1, 600), st.integers(0, 16_000)).map(lambda kind: (kind[0], kind[0] + kind[1]))
batches = st.dictionaries(kinds, st.integers(1, 10_000), min_size=1, max_size=12)
budgets = st.builds(Budget, st.integers(1, 40), st.sampled_from((0.5, 0.9, 0.99, 1.0)), st.sampled_from((0.0, 0.25, 3)))
few = settings(max_examples=12, deadline=None)


def padded(scheme: Scheme, sequences: int, tokens: int) -> tuple[int, int] | None:
    """The padding law again, in the plainest words."""
    step = scheme.multiple if tokens <= 16 * scheme.multiple else 4 * scheme.multiple
    rows = next(rows for rows in range(step, tokens + step, step) if rows >= tokens)
    needed = sequences + 1 if rows > tokens else sequences
    return next(((rows, slots) for slots in scheme.slots if slots >= needed), None)


def work(scheme: Scheme, counts: Counts, budget: Budget) -> float:
    sizes = {kind: padded(scheme, *kind) for kind in counts}
    total = sum(count * (sizes[kind][0] + budget.slot_rows * sizes[kind][1]) for kind, count in counts.items())
    return total / sum(counts.values())


def keys(scheme: Scheme, counts: Counts) -> dict[tuple[int, int], float]:
    shares: dict[tuple[int, int], float] = {}
    for kind, count in counts.items():
        key = padded(scheme, *kind)
        shares[key] = shares.get(key, 0) + count / sum(counts.values())
    return shares


def reachable(scheme: Scheme, counts: Counts, budget: Budget) -> float:
    """What the most frequent keys that a manifest can name cover."""
    named = sorted((share for (rows, slots), share in keys(scheme, counts).items() if slots <= rows), reverse=True)
    return sum(named[: budget.graphs])


@few
@given(batches, budgets)
def test_each_batch_that_was_seen_fits_its_key_and_what_is_promised_is_what_comes(
    counts: Counts, budget: Budget
) -> None:
    plan = propose(Observed.of(counts), budget)
    shares = keys(plan.scheme, counts)
    assert plan.keys == len(shares)
    assert plan.covered == pytest.approx(sum(shares[graph.tokens, graph.slots] for graph in plan.prewarm))
    assert plan.work == pytest.approx(work(plan.scheme, counts, budget))
    rows = sum(count * padded(plan.scheme, *kind)[0] for kind, count in counts.items())
    real = sum(count * kind[1] for kind, count in counts.items())
    assert plan.wasted_rows == pytest.approx(1 - real / rows)


@few
@given(batches, budgets)
def test_a_plan_is_one_that_a_manifest_can_hold(counts: Counts, budget: Budget) -> None:
    plan = propose(Observed.of(counts), budget)
    named = [(graph.tokens, graph.slots) for graph in plan.prewarm]
    assert len(named) == len(set(named)) <= min(budget.graphs, MOST_PREWARMED)
    assert all(tokens % plan.scheme.multiple == 0 and slots in plan.scheme.slots for tokens, slots in named)
    assert all(slots <= tokens for tokens, slots in named)
    assert list(plan.scheme.slots) == sorted(set(plan.scheme.slots))
    assert len(plan.scheme.slots) <= 16
    assert plan.scheme.multiple in MULTIPLES
    shares = [graph.batches for graph in plan.prewarm]
    assert shares == sorted(shares, reverse=True)


@settings(max_examples=8, deadline=None)
@given(batches, budgets)
def test_no_scheme_that_was_considered_wastes_less_within_the_budget(counts: Counts, budget: Budget) -> None:
    observed = Observed.of(counts)
    plan = propose(observed, budget)
    sample = [*schemes(observed)][::17]
    covering = [scheme for scheme in sample if reachable(scheme, counts, budget) >= budget.coverage]
    if plan.covered >= budget.coverage:
        assert plan.work <= 1.0051 * min((work(scheme, counts, budget) for scheme in covering), default=plan.work)
    else:
        assert covering == []
        assert plan.covered >= max(reachable(scheme, counts, budget) for scheme in sample) - 1e-9


@few
@given(batches, st.integers(1, 30))
def test_a_larger_budget_never_covers_less(counts: Counts, graphs: int) -> None:
    observed = Observed.of(counts)
    small, large = (propose(observed, Budget(graphs=each)) for each in (graphs, graphs + 8))
    assert large.covered >= min(small.covered, 0.99)


@few
@given(batches, st.integers(2, 9))
def test_how_long_was_counted_changes_nothing(counts: Counts, times: int) -> None:
    once, more = (Observed.of({kind: factor * count for kind, count in counts.items()}) for factor in (1, times))
    assert propose(once, Budget()).scheme == propose(more, Budget()).scheme


def test_every_set_of_slots_below_the_largest_is_considered() -> None:
    below = (2, 4, 8, 16, 32, 64, 128, 256)
    sets = {(*chosen, 512) for count in range(9) for chosen in combinations(below, count)}
    found = set(schemes(Observed.of({(1, 9): 1})))
    assert found == {Scheme(multiple, slots) for multiple in MULTIPLES for slots in sets}


def test_slots_hold_the_largest_batch_and_the_owner_of_its_pads() -> None:
    assert propose(Observed.of({(511, 600): 1}), Budget()).scheme.slots[-1] == 512
    assert propose(Observed.of({(512, 600): 1}), Budget()).scheme.slots[-1] == 1024


def test_batches_without_slots_are_nobodys() -> None:
    plan = judge(Observed.of({(1, 64): 3, (600, 6000): 1}), DEFAULT, Budget())
    assert (plan.covered, plan.keys, [(graph.tokens, graph.slots) for graph in plan.prewarm]) == (0.75, 1, [(64, 2)])


def test_one_kind_of_batch_gets_the_one_graph_that_it_needs() -> None:
    plan = propose(Observed.of({(1, 60): 100}), Budget(graphs=1))
    assert [(graph.tokens, graph.batches) for graph in plan.prewarm] == [(64, 1.0)]
    assert plan.prewarm[0].wasted == pytest.approx(1 - 60 / 64)
    assert plan.prewarm[0].slots == plan.scheme.slots[0]


def test_few_graphs_make_coarse_sizes_and_many_make_fine_ones() -> None:
    spread = Observed.of({(1, tokens): 1 for tokens in range(1, 8193, 8)})
    plans = [propose(spread, Budget(graphs=graphs)) for graphs in (8, 16, 64)]
    assert [plan.scheme.multiple for plan in plans] == sorted((plan.scheme.multiple for plan in plans), reverse=True)
    assert plans[0].wasted_rows > plans[1].wasted_rows > plans[2].wasted_rows
    assert all(isinstance(plan, Plan) and plan.covered >= 0.99 for plan in plans[1:])


@given(st.integers(1, 40_000), st.sampled_from(MULTIPLES))
def test_rows_are_those_of_the_padding_law(tokens: int, multiple: int) -> None:
    scheme = Scheme(multiple, (2,))
    assert int(scheme.rows(np.array([tokens]))[0]) == padded(Scheme(multiple, (9,)), 1, tokens)[0]
