"""The bucket planner: its plans hold what they promise on any batches, and none considered is better."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tulip_rose.rose.graphs.key import Buckets
from tulip_rose.rose.plan.buckets import MOST_PREWARMED, MULTIPLES, Budget, Plan, judge, propose, slot_sets
from tulip_rose.rose.plan.observed import Observed

Counts = dict[tuple[int, int], int]
kinds = st.tuples(st.integers(1, 600), st.integers(0, 16_000)).map(lambda kind: (kind[0], kind[0] + kind[1]))
batches = st.dictionaries(kinds, st.integers(1, 10_000), min_size=1, max_size=12)
budgets = st.builds(Budget, st.integers(1, 40), st.sampled_from((0.5, 0.9, 0.99, 1.0)), st.sampled_from((0.0, 0.25, 3)))
few = settings(max_examples=12, deadline=None)


def padded(buckets: Buckets, sequences: int, tokens: int) -> tuple[int, int] | None:
    """The padding law again, in the plainest words."""
    step = buckets.multiple if tokens <= 16 * buckets.multiple else 4 * buckets.multiple
    rows = next(rows for rows in range(step, tokens + step, step) if rows >= tokens)
    needed = sequences + 1 if rows > tokens else sequences
    return next(((rows, slots) for slots in buckets.slots if slots >= needed), None)


def work(buckets: Buckets, counts: Counts, budget: Budget) -> float:
    sizes = {kind: padded(buckets, *kind) for kind in counts}
    total = sum(count * (sizes[kind][0] + budget.slot_rows * sizes[kind][1]) for kind, count in counts.items())
    return total / sum(counts.values())


def keys(buckets: Buckets, counts: Counts) -> dict[tuple[int, int], float]:
    shares: dict[tuple[int, int], float] = {}
    for kind, count in counts.items():
        key = padded(buckets, *kind)
        shares[key] = shares.get(key, 0) + count / sum(counts.values())
    return shares


def reachable(buckets: Buckets, counts: Counts, budget: Budget) -> float:
    """What the most frequent keys that a manifest can name cover."""
    named = sorted((share for (rows, slots), share in keys(buckets, counts).items() if slots <= rows), reverse=True)
    return sum(named[: budget.graphs])


@few
@given(batches, budgets)
def test_each_batch_that_was_seen_fits_its_key_and_what_is_promised_is_what_comes(
    counts: Counts, budget: Budget
) -> None:
    plan = propose(Observed.of(counts), budget)
    shares = keys(plan.buckets, counts)
    assert plan.keys == len(shares)
    assert plan.covered == pytest.approx(sum(shares[graph.tokens, graph.slots] for graph in plan.prewarm))
    assert plan.work == pytest.approx(work(plan.buckets, counts, budget))
    rows = sum(count * padded(plan.buckets, *kind)[0] for kind, count in counts.items())
    real = sum(count * kind[1] for kind, count in counts.items())
    assert plan.wasted_rows == pytest.approx(1 - real / rows)


@few
@given(batches, budgets)
def test_a_plan_is_one_that_a_manifest_can_hold(counts: Counts, budget: Budget) -> None:
    plan = propose(Observed.of(counts), budget)
    named = [(graph.tokens, graph.slots) for graph in plan.prewarm]
    assert len(named) == len(set(named)) <= min(budget.graphs, MOST_PREWARMED)
    assert all(tokens % plan.buckets.multiple == 0 and slots in plan.buckets.slots for tokens, slots in named)
    assert all(slots <= tokens for tokens, slots in named)
    assert list(plan.buckets.slots) == sorted(set(plan.buckets.slots))
    assert len(plan.buckets.slots) <= 16
    assert plan.buckets.multiple in MULTIPLES
    shares = [graph.batches for graph in plan.prewarm]
    assert shares == sorted(shares, reverse=True)


@settings(max_examples=8, deadline=None)
@given(batches, budgets)
def test_no_buckets_that_were_considered_wastes_less_within_the_budget(counts: Counts, budget: Budget) -> None:
    observed = Observed.of(counts)
    plan = propose(observed, budget)
    sets = slot_sets(observed)[::5]
    sample = [Buckets(multiple, slots) for multiple in MULTIPLES for slots in sets]
    covering = [buckets for buckets in sample if reachable(buckets, counts, budget) >= budget.coverage]
    if plan.covered >= budget.coverage:
        assert plan.work <= 1.0051 * min((work(buckets, counts, budget) for buckets in covering), default=plan.work)
    else:
        assert covering == []
        assert plan.covered >= max(reachable(buckets, counts, budget) for buckets in sample) - 1e-9


@few
@given(batches, st.integers(1, 30))
def test_a_larger_budget_never_covers_less(counts: Counts, graphs: int) -> None:
    observed = Observed.of(counts)
    small, large = (propose(observed, Budget(graphs=each)) for each in (graphs, graphs + 8))
    assert large.covered >= min(small.covered, Budget().coverage)


@few
@given(batches, st.integers(2, 9))
def test_how_long_was_counted_changes_nothing(counts: Counts, times: int) -> None:
    once, more = (Observed.of({kind: factor * count for kind, count in counts.items()}) for factor in (1, times))
    assert propose(once, Budget()).buckets == propose(more, Budget()).buckets


def test_every_set_of_slots_below_the_largest_is_considered() -> None:
    below = (2, 4, 8, 16, 32, 64, 128, 256)
    sets = {(*chosen, 512) for count in range(9) for chosen in combinations(below, count)}
    assert set(slot_sets(Observed.of({(1, 9): 1}))) == sets


def test_slots_hold_the_largest_batch_and_the_owner_of_its_pads() -> None:
    assert propose(Observed.of({(511, 600): 1}), Budget()).buckets.slots[-1] == 512
    assert propose(Observed.of({(512, 600): 1}), Budget()).buckets.slots[-1] == 1024


def test_batches_without_slots_are_nobodys() -> None:
    plan = judge(Observed.of({(1, 64): 3, (600, 6000): 1}), Buckets(), Budget())
    assert (plan.covered, plan.keys, [(graph.tokens, graph.slots) for graph in plan.prewarm]) == (0.75, 1, [(64, 2)])


def test_one_kind_of_batch_gets_the_one_graph_that_it_needs() -> None:
    plan = propose(Observed.of({(1, 60): 100}), Budget(graphs=1))
    assert [(graph.tokens, graph.batches) for graph in plan.prewarm] == [(64, 1.0)]
    assert plan.prewarm[0].wasted == pytest.approx(1 - 60 / 64)
    assert plan.prewarm[0].slots == plan.buckets.slots[0]


def test_few_graphs_make_coarse_sizes_and_many_make_fine_ones() -> None:
    spread = Observed.of({(1, tokens): 1 for tokens in range(1, 8193, 8)})
    plans = [propose(spread, Budget(graphs=graphs)) for graphs in (8, 16, 64)]
    assert [plan.buckets.multiple for plan in plans] == sorted((plan.buckets.multiple for plan in plans), reverse=True)
    assert plans[0].wasted_rows > plans[1].wasted_rows > plans[2].wasted_rows
    assert all(isinstance(plan, Plan) and plan.covered >= 0.999 for plan in plans[1:])
