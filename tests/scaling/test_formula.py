"""How many engines the work in sight needs: cases that can be checked by hand, and laws that hold for all."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trellis_operator.scaling.formula import TOLERANCE, Demand, Targets, need, replicas

TARGETS = Targets(waiting_tokens=200_000, utilization=0.5, min_replicas=1, max_replicas=8)
ASLEEP = Targets(waiting_tokens=200_000, utilization=0.5, min_replicas=0, max_replicas=8)


@pytest.mark.parametrize(
    ("waiting", "rate", "capacity", "needed"),
    [
        (0, 0, 0, 0.0),
        (0, 0, 10_000, 0.0),
        (0, 10_000, 10_000, 2.0),  # one engine's capacity, of which half is to be used
        (0, 12_500, 10_000, 2.5),
        (100_000, 0, 0, 0.5),  # nothing was measured yet: the queue alone tells
        (600_000, 0, 10_000, 3.0),
        (600_000, 10_000, 10_000, 3.0),  # the larger demand counts, and not their sum
        (200_000, 25_000, 10_000, 5.0),
        (0, 10_000, 0, 0.0),
    ],
)
def test_the_need_is_the_larger_of_two_demands(waiting: float, rate: float, capacity: float, needed: float) -> None:
    assert need(Demand(waiting, rate, capacity), TARGETS) == pytest.approx(needed)


@pytest.mark.parametrize(
    ("needed", "current", "targets", "wanted"),
    [
        (0.0, 3, TARGETS, 1),
        (0.0, 3, ASLEEP, 0),
        (0.0001, 0, ASLEEP, 1),  # any demand at all wakes
        (2.01, 2, TARGETS, 2),  # within the tolerance
        (2.3, 2, TARGETS, 3),
        (1.85, 2, TARGETS, 2),
        (1.2, 2, TARGETS, 2),  # one would not do
        (0.9, 2, TARGETS, 1),
        (100.0, 2, TARGETS, 8),
        (2.0, 20, TARGETS, 2),
        (9.0, 9, TARGETS, 8),  # the bounds stand above the tolerance
    ],
)
def test_replicas_are_what_the_need_asks_for_within_bounds(
    needed: float, current: int, targets: Targets, wanted: int
) -> None:
    assert replicas(needed, current, targets) == wanted


CPU = Targets(waiting_tokens=None, utilization=0.5, min_replicas=1, max_replicas=8, wait_s=2, unmeasured_tokens=10_000)


@pytest.mark.parametrize(
    ("demand", "needed"),
    [
        (Demand(40_000, 0, 10_000, 131_072), 2.0),  # each does 20,000 in two seconds
        (Demand(40_000, 0, 10_000), 2.0),
        (Demand(40_000, 0, 0, 131_072), 4.0),  # nothing was measured
        (Demand(40_000, 0, 10_000, 20_000), 4.0),  # no more than half of a queue may wait in it
        (Demand(40_000, 25_000, 10_000, 131_072), 5.0),
        (Demand(0, 0, 0, 0), 0.0),
    ],
)
def test_where_no_number_is_given_as_much_may_wait_as_an_engine_does_in_some_seconds(
    demand: Demand, needed: float
) -> None:
    assert need(demand, CPU) == pytest.approx(needed)


GPU = Targets(None, 0.5, 1, 8, wait_s=2, unmeasured_tokens=200_000, accelerated=True)


@pytest.mark.parametrize(
    ("demand", "needed"),
    [
        (Demand(0, 20_000, 20_000, 1e6, 10, 1000, 1), 1.0),  # small batches are no reason for two engines
        (Demand(0, 20_000, 20_000, 1e6, 10, 1000, 3), 2.0),  # nor for three that are there
        (Demand(400_000, 20_000, 20_000, 1e6, 10, 1000, 1), 2.0),  # as much may wait as where nothing was measured
        (Demand(400_000, 0, 400_000, 4e6, 10, 1000, 1), 0.5),  # or more, where more was measured
        (Demand(400_000, 0, 20_000, 200_000, 10, 1000, 1), 4.0),  # and half of a queue at most
        (Demand(400_000, 20_000, 20_000, 1e6, 200, 1000, 1), 10.0),  # batches that are not small tell what it does
        (Demand(400_000, 20_000, 20_000, 1e6, 0, 1000, 1), 10.0),
        (Demand(0, 20_000, 20_000, 1e6, 10, 1000, 0), 2.0),
        (Demand(0, 20_000, 20_000, 1e6, 10, 0, 1), 2.0),  # no engine has said what a batch may hold
        (Demand(0, 20_000, 20_000, 1e6, 1023, 32_768, 1), 1.0),
        (Demand(0, 20_000, 20_000, 1e6, 1024, 32_768, 1), 2.0),  # one for a long text holds more than fills a device
    ],
)
def test_small_batches_of_an_accelerator_are_no_measure_of_it(demand: Demand, needed: float) -> None:
    assert need(demand, GPU) == pytest.approx(needed)
    on_a_cpu = need(demand, replace(GPU, accelerated=False))
    assert on_a_cpu == need(replace(demand, batch_tokens=1000, max_batch_tokens=1000), GPU) >= needed


@given(st.floats(1, 1e6), st.integers(1, 1000))
def test_whatever_an_engine_can_do_full_queues_ask_for_more_engines_than_there_are(
    capacity: float, engines: int
) -> None:
    full = Demand(131_072 * engines, 0, capacity, 131_072)
    assert replicas(need(full, Targets(None, 0.7, 1, 10_000)), engines, Targets(None, 0.7, 1, 10_000)) > engines


amounts = st.floats(0, 1e9, allow_nan=False)
demands = st.builds(
    Demand,
    amounts,
    amounts,
    st.floats(0, 1e7).map(lambda speed: speed if speed > 1 else 0.0),
    st.sampled_from([0.0, 131_072.0]),
)


@st.composite
def targets_of(draw: st.DrawFn) -> Targets:
    least, most = sorted((draw(st.integers(0, 1000)), draw(st.integers(1, 1000))))
    return Targets(draw(st.none() | st.floats(1, 1e9)), draw(st.floats(0.01, 1)), least, most)


@given(demands, targets_of(), st.integers(0, 1000))
def test_replicas_stay_within_their_bounds(demand: Demand, targets: Targets, current: int) -> None:
    assert targets.min_replicas <= replicas(need(demand, targets), current, targets) <= targets.max_replicas


@given(demands, demands, targets_of())
def test_more_of_everything_never_needs_fewer(one: Demand, other: Demand, targets: Targets) -> None:
    capacity, queue = one.capacity_tokens_per_second, one.queue_tokens
    less, more = sorted((one.waiting_tokens, other.waiting_tokens))
    slow, fast = sorted((one.tokens_per_second, other.tokens_per_second))
    assert need(Demand(less, slow, capacity, queue), targets) <= need(Demand(more, fast, capacity, queue), targets)


@given(demands, targets_of(), st.integers(0, 1000))
def test_so_many_engines_meet_the_need_unless_a_bound_or_the_tolerance_says_otherwise(
    demand: Demand, targets: Targets, current: int
) -> None:
    needed = need(demand, targets)
    found = replicas(needed, current, targets)
    assert found == targets.max_replicas or found * (1 + TOLERANCE) >= needed * (1 - 1e-9)


@given(demands, targets_of(), st.integers(0, 1000))
def test_a_demand_that_stays_comes_to_rest_after_one_step(demand: Demand, targets: Targets, current: int) -> None:
    needed = need(demand, targets)
    first = replicas(needed, current, targets)
    assert replicas(needed, first, targets) == first


@given(targets_of(), st.integers(0, 1000))
def test_without_demand_there_are_the_fewest(targets: Targets, current: int) -> None:
    assert replicas(need(Demand(0, 0, 1000), targets), current, targets) == targets.min_replicas


@given(demands, targets_of())
def test_a_need_is_a_number(demand: Demand, targets: Targets) -> None:
    assert math.isfinite(need(demand, targets))
    assert need(demand, targets) >= 0
