"""The scheduler's laws: nothing lost, nothing twice, order, budget, bound, nobody starved."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tulip_rose.sequence import OutputForm, Sequence
from tulip_rose.tulip.errors import BadCall, Cancelled, DeadlinePassed, QueueFull
from tulip_rose.tulip.lines import SECONDS_A_LEVEL, turn
from tulip_rose.tulip.scheduler import Scheduler

BUDGET, BOUND = 20, 100
sizes = st.lists(st.integers(1, 30), min_size=1, max_size=12)
priorities = st.sampled_from([0, 0, 1, 50, 999])


def sequence_of(tokens: int, deadline: float = float("inf"), *, arrival: float = 0.0, priority: int = 0) -> Sequence:
    made = Sequence.whole(np.zeros(tokens, dtype=np.int32), OutputForm(4), arrival=arrival, deadline=deadline)
    made.priority = priority
    return made


def in_turn(sequences: list[Sequence]) -> list[Sequence]:
    """As they are served, given in the order in which they came."""
    return sorted(sequences, key=lambda each: (turn(each), each.priority))


class Life(RuleBasedStateMachine):
    """Random submits, drops, takes and settles, against a plain list of what should wait."""

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = Scheduler(BUDGET, BOUND)
        self.now = 0.0
        self.waiting: list[Sequence] = []
        self.flights: list[list[Sequence]] = []
        self.gone: list[Sequence] = []
        self.submitted = 0

    @rule(tokens=sizes, lifetime=st.sampled_from([1.0, 3.0, float("inf")]), priority=priorities)
    def submit(self, tokens: list[int], lifetime: float, priority: int) -> None:
        call = [sequence_of(size, self.now + lifetime, arrival=self.now, priority=priority) for size in tokens]
        room = BOUND - sum(each.tokens for each in self.waiting)
        if sum(tokens) > room:
            with pytest.raises((QueueFull, BadCall)):
                self.scheduler.submit(call)
            return
        self.scheduler.submit(call)
        self.waiting = in_turn(self.waiting + call)
        self.submitted += len(call)

    @rule(elapsed=st.sampled_from([0.0, 0.5, 2.0]))
    def take(self, elapsed: float) -> None:
        self.now += elapsed
        pick = self.scheduler.take(self.now)
        assert all(each.deadline <= self.now and isinstance(each.outcome, DeadlinePassed) for each in pick.expired)
        assert all(each.deadline > self.now and each.outcome is None for each in pick.batch)
        assert pick.tokens == sum(each.tokens for each in pick.batch)
        assert pick.tokens <= BUDGET or len(pick.batch) == 1
        seen = len(pick.batch) + len(pick.expired)
        assert set(pick.batch) | set(pick.expired) == set(self.waiting[:seen])
        assert pick.batch == [each for each in self.waiting[:seen] if each in set(pick.batch)]
        self._nothing_more_would_fit(pick.tokens, self.waiting[seen:])
        self.waiting = self.waiting[seen:]
        self.gone += pick.expired
        if pick.batch:
            self.flights.append(pick.batch)

    def _nothing_more_would_fit(self, taken: int, rest: list[Sequence]) -> None:
        assert not rest or (rest[0].deadline > self.now and taken + rest[0].tokens > BUDGET)

    @precondition(lambda self: self.waiting or self.flights)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        everyone = [*self.waiting, *(each for flight in self.flights for each in flight)]
        chosen = data.draw(st.lists(st.sampled_from(everyone), unique_by=id))
        reason = Cancelled("left")
        dropped = self.scheduler.drop(chosen, reason)
        assert dropped == [each for each in chosen if each in self.waiting]
        assert all(each.outcome is reason for each in dropped)
        self.waiting = [each for each in self.waiting if each not in dropped]
        self.gone += dropped

    @precondition(lambda self: self.flights)
    @rule()
    def settle(self) -> None:
        flight = self.flights.pop(0)
        self.scheduler.settle(flight)
        self.gone += flight

    @invariant()
    def counters_say_what_is_there(self) -> None:
        assert len(self.scheduler) == len(self.waiting)
        assert self.scheduler.queued_tokens == sum(each.tokens for each in self.waiting) <= BOUND
        assert self.scheduler.in_flight_tokens == sum(each.tokens for flight in self.flights for each in flight)

    def teardown(self) -> None:
        """In the end everybody has left once, and the counters are at zero."""
        while self.waiting:
            self.take(0.0)
        while self.flights:
            self.settle()
        assert len(set(self.gone)) == len(self.gone) == self.submitted
        assert self.scheduler.outstanding_tokens == len(self.scheduler) == 0


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


@given(sizes)
def test_sequences_of_one_priority_are_taken_in_order_of_arrival_and_never_overtake(tokens: list[int]) -> None:
    scheduler = Scheduler(BUDGET, 10_000)
    call = [sequence_of(size) for size in tokens]
    for each in call:
        scheduler.submit([each])
    taken: list[Sequence] = []
    while pick := scheduler.take(0.0).batch:
        taken += pick
    assert taken == call


@given(st.lists(st.tuples(st.floats(0, 1), priorities), min_size=1, max_size=40), st.data())
def test_nobody_is_overtaken_by_one_that_comes_later_than_its_levels_say(
    steps: list[tuple[float, int]], data: st.DataObject
) -> None:
    scheduler, now, taken = Scheduler(BUDGET, 10_000), 0.0, 0
    waiting: list[Sequence] = []
    for elapsed, priority in steps:
        now += elapsed
        own = sequence_of(data.draw(st.integers(1, BUDGET)), arrival=now, priority=priority)
        scheduler.submit([own])
        waiting = in_turn([*waiting, own])
        if data.draw(st.booleans()):
            batch = scheduler.take(now).batch
            assert batch == waiting[: len(batch)]
            waiting, taken = waiting[len(batch) :], taken + len(batch)
    assert taken + len(scheduler) == len(steps)


def test_the_last_priority_is_served_in_a_stream_of_the_first_that_fills_every_batch() -> None:
    scheduler, last = Scheduler(BUDGET, BOUND), sequence_of(1, priority=999)
    scheduler.submit([last])
    for step in range(1, 200):
        now = step / 10
        scheduler.submit([sequence_of(BUDGET, arrival=now)])
        if last in scheduler.take(now).batch:
            break
    assert 999 * SECONDS_A_LEVEL <= now <= 999 * SECONDS_A_LEVEL + 0.2


def test_a_lower_number_goes_first_though_it_came_later() -> None:
    scheduler = Scheduler(BUDGET, BOUND)
    backfill, user = sequence_of(BUDGET, priority=500), sequence_of(BUDGET, arrival=1.0)
    scheduler.submit([backfill])
    scheduler.submit([user])
    assert [scheduler.take(1.0).batch for _ in range(2)] == [[user], [backfill]]


def test_lines_that_are_empty_are_gone_once_somebody_looks() -> None:
    scheduler = Scheduler(BUDGET, BOUND)
    for priority in range(1000):
        call = [sequence_of(50, priority=priority)]
        scheduler.submit(call)
        scheduler.drop(call, Cancelled("left"))
    assert scheduler.take(0.0).batch == []
    assert len(scheduler) == scheduler.queued_tokens == 0


def test_a_sequence_above_the_budget_goes_alone() -> None:
    scheduler = Scheduler(BUDGET, BOUND)
    short, long, other = sequence_of(1), sequence_of(BUDGET + 5), sequence_of(1)
    scheduler.submit([short, long, other])
    assert [scheduler.take(0.0).batch for _ in range(3)] == [[short], [long], [other]]


def test_a_long_document_delays_the_rest_by_its_own_tokens_and_no_more() -> None:
    tokens = [
        int(each) for each in np.random.default_rng(5).choice([3, 20, 90, BUDGET], 1000, p=[0.6, 0.3, 0.09, 0.01])
    ]
    scheduler = Scheduler(BUDGET, sum(tokens))
    documents = [sequence_of(each) for each in tokens]
    scheduler.submit(documents)
    done, begun = 0, {}
    while batch := scheduler.take(0.0).batch:
        begun |= {id(document): done for document in batch}
        done += sum(document.tokens for document in batch)
    before = 0
    for document in documents:
        assert begun[id(document)] <= before, "the device has worked on nothing but what stood before it"
        before += document.tokens
    assert done == before == sum(tokens)


def test_a_full_queue_takes_nothing_of_a_call_and_says_the_numbers() -> None:
    scheduler = Scheduler(BUDGET, BOUND)
    scheduler.submit([sequence_of(90)])
    with pytest.raises(QueueFull) as refusal:
        scheduler.submit([sequence_of(5), sequence_of(6)])
    assert (refusal.value.tokens, refusal.value.queued_tokens, refusal.value.max_queued_tokens) == (11, 90, BOUND)
    assert len(scheduler) == 1


def test_a_call_that_can_never_fit_is_a_bad_call_and_not_a_full_queue() -> None:
    with pytest.raises(BadCall, match="101 tokens"):
        Scheduler(BUDGET, BOUND).submit([sequence_of(BOUND + 1)])


def test_what_is_in_flight_leaves_room_in_the_queue() -> None:
    scheduler = Scheduler(BOUND, BOUND)
    scheduler.submit([sequence_of(BOUND)])
    scheduler.take(0.0)
    scheduler.submit([sequence_of(BOUND)])
    assert (scheduler.queued_tokens, scheduler.in_flight_tokens) == (BOUND, BOUND)


def test_a_caller_that_comes_and_goes_leaves_nothing_in_a_queue_that_nobody_empties() -> None:
    scheduler = Scheduler(BUDGET, BOUND)
    for _ in range(1000):
        call = [sequence_of(50)]
        scheduler.submit(call)
        scheduler.drop(call, Cancelled("left"))
    assert len(scheduler) == scheduler.queued_tokens == 0
