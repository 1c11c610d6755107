"""What an engine can do, by what it has done."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from tulip_rose.rose.lazy import Rows
from tulip_rose.sequence import Embedded, OutputForm, Sequence, StepTimes
from tulip_rose.tulip.capacity import Capacity
from tulip_rose.tulip.metrics import Metrics
from tulip_rose.tulip.queue import Queue
from tulip_rose.tulip.scheduler import Scheduler


def test_before_the_first_batch_nothing_is_known() -> None:
    assert Capacity().tokens_per_second() == 0


def test_it_is_tokens_over_busy_time_and_not_a_mean_of_speeds() -> None:
    capacity = Capacity()
    capacity.settled(1000, 0.01)
    capacity.settled(10, 0.01)
    assert capacity.tokens_per_second() == pytest.approx(1010 / 0.02, rel=0.01)


def test_what_was_long_ago_in_busy_time_is_forgotten() -> None:
    capacity = Capacity()
    for _ in range(100):
        capacity.settled(1000, 1.0)
    for _ in range(200):
        capacity.settled(500, 1.0)
    assert capacity.tokens_per_second() == pytest.approx(500, rel=0.02)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(1e-5, 10)), min_size=1, max_size=20))
def test_it_lies_between_the_slowest_and_the_fastest_batch(batches: list[tuple[int, float]]) -> None:
    capacity = Capacity()
    for tokens, busy_s in batches:
        capacity.settled(tokens, busy_s)
    speeds = [tokens / busy_s for tokens, busy_s in batches]
    assert min(speeds) * (1 - 1e-9) <= capacity.tokens_per_second() <= max(speeds) * (1 + 1e-9)


def test_a_batch_that_came_back_is_measured_and_one_that_failed_is_not() -> None:
    metrics = Metrics()
    queue = Queue(Scheduler(100, 1000), lambda _: None, metrics)
    batch = [Sequence.whole(np.zeros(30, dtype=np.int32), OutputForm(4)) for _ in range(2)]
    queue.submit(batch)
    queue.take(False)
    for sequence in batch:
        sequence.outcome = Embedded(Rows((), ()), StepTimes(0.0, 0.0, 0.0, 0.5, 0.5))
    queue.settled(batch)
    assert "trellis_engine_capacity_tokens_per_second 120.0" in generate_latest(metrics.registry).decode()
    lost = [Sequence.whole(np.zeros(30, dtype=np.int32), OutputForm(4))]
    queue.submit(lost)
    queue.take(False)
    lost[0].outcome = RuntimeError("x")
    queue.settled(lost)
    assert "trellis_engine_capacity_tokens_per_second 120.0" in generate_latest(metrics.registry).decode()
