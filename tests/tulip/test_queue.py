"""The queue between two real threads."""

import threading
from collections.abc import Callable
from collections.abc import Sequence as Run
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tulip_rose.rose.lazy import Rows
from tulip_rose.sequence import Embedded, OutputForm, Sequence, StepTimes
from tulip_rose.tulip.errors import Cancelled, DeadlinePassed, NotServing
from tulip_rose.tulip.metrics import Metrics
from tulip_rose.tulip.queue import Queue
from tulip_rose.tulip.scheduler import Scheduler

DEADLINE_S = 30.0


def sequence_of(tokens: int, deadline: float = float("inf")) -> Sequence:
    return Sequence.whole(np.zeros(tokens, dtype=np.int32), OutputForm(4), deadline=deadline)


@pytest.fixture
def delivered() -> list[Sequence]:
    return []


@pytest.fixture
def queue(delivered: list[Sequence]) -> Queue:
    return Queue(Scheduler(10, 10_000), delivered.extend, Metrics())


def test_a_blocked_take_wakes_for_a_call(queue: Queue) -> None:
    with ThreadPoolExecutor(1) as engine:
        taken = engine.submit(queue.take, True)
        call = [sequence_of(3)]
        queue.submit(call)
        assert taken.result(DEADLINE_S) == call


def test_a_blocked_take_ends_when_the_queue_is_closed(queue: Queue) -> None:
    with ThreadPoolExecutor(1) as engine:
        taken = engine.submit(queue.take, True)
        queue.close("draining")
        assert taken.result(DEADLINE_S) is None


def test_an_unblocked_take_of_an_empty_queue_comes_back_at_once(queue: Queue) -> None:
    assert queue.take(False) == []


def test_a_closed_queue_gives_out_what_waits_and_then_ends(queue: Queue) -> None:
    call = [sequence_of(3)]
    queue.submit(call)
    queue.close("draining")
    assert queue.take(True) == call
    assert queue.take(True) is None


def test_a_closed_queue_refuses_with_its_reason(queue: Queue) -> None:
    queue.close("draining")
    with pytest.raises(NotServing, match="draining"):
        queue.submit([sequence_of(1)])


def test_what_expired_while_it_waited_is_delivered_and_not_taken(queue: Queue, delivered: list[Sequence]) -> None:
    late, fresh = sequence_of(3, deadline=0.0), sequence_of(3)
    queue.submit([late, fresh])
    assert queue.take(True) == [fresh]
    assert delivered == [late]
    assert isinstance(late.outcome, DeadlinePassed)


def test_what_is_dropped_is_neither_taken_nor_delivered(queue: Queue, delivered: list[Sequence]) -> None:
    gone, stays = [sequence_of(3), sequence_of(3)], [sequence_of(3)]
    queue.submit(gone)
    queue.submit(stays)
    assert queue.drop(gone, Cancelled("left")) == 2
    assert queue.take(True) == stays
    assert delivered == []


def test_a_failed_queue_delivers_everything_that_waits(queue: Queue, delivered: list[Sequence]) -> None:
    call = [sequence_of(3), sequence_of(3)]
    queue.submit(call)
    failure = Cancelled("over")
    queue.fail(failure)
    assert delivered == call
    assert all(each.outcome is failure for each in call)
    assert queue.take(False) == []


def test_many_callers_and_one_engine_lose_nothing_and_settle_everything_once() -> None:
    settled: list[Sequence] = []
    queue = Queue(Scheduler(10, 10_000_000), settled.extend, Metrics())
    calls = [[[sequence_of(1 + index % 7) for index in range(20)] for _ in range(50)] for _ in range(8)]
    engine = threading.Thread(target=_serve_until_closed, args=(queue,))
    engine.start()
    with ThreadPoolExecutor(8) as callers:
        list(callers.map(_submit_all(queue), calls))
    queue.close("done")
    engine.join(DEADLINE_S)
    everyone = [each for caller in calls for call in caller for each in call]
    assert len(settled) == len(everyone)
    assert set(settled) == set(everyone)
    assert queue.outstanding_tokens == 0


def _submit_all(queue: Queue) -> Callable[[Run[Run[Sequence]]], None]:
    def submit(calls: Run[Run[Sequence]]) -> None:
        for call in calls:
            queue.submit(call)

    return submit


def _serve_until_closed(queue: Queue) -> None:
    while (batch := queue.take(True)) is not None:
        for each in batch:
            each.outcome = Embedded(Rows((), ()), StepTimes(0.0, 0.0, 0.0, 0.0, 0.0))
        queue.settled(batch)
