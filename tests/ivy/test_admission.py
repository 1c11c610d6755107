"""Who is let in, with a clock that stands where the test puts it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ivy.admission import Admission
from ivy.errors import Overloaded
from ivy.metrics import Metrics


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def admission(clock):
    return Admission(1000, Metrics((), [200]), clock)


def test_what_fits_is_let_in_and_what_does_not_is_refused(admission):
    with admission.lease(60, 100), admission.lease(40, 100):
        with pytest.raises(Overloaded), admission.lease(1, 100):
            pass
        assert admission.tokens == 100
    assert admission.tokens == 0


def test_one_rule_for_all_sizes_a_batch_above_the_bound_is_served_alone(admission):
    with admission.lease(500, 100), pytest.raises(Overloaded), admission.lease(1, 100):
        pass
    with admission.lease(1, 100), pytest.raises(Overloaded), admission.lease(500, 100):
        pass


def test_the_real_count_takes_the_place_of_the_estimate(admission):
    with admission.lease(10, 100) as lease:
        lease.settle(90)
        assert admission.tokens == 90
        with pytest.raises(Overloaded), admission.lease(20, 100):
            pass
    assert admission.tokens == 0


@given(
    leases=st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50), st.booleans()), max_size=30),
)
def test_tokens_are_given_back_on_every_path(leases):
    admission = Admission(1000, Metrics((), [200]), Clock())
    for estimate, exact, fails in leases:
        with (
            pytest.raises(ValueError, match="x") if fails else admission.lease(1, 100),
            admission.lease(estimate, 100) as lease,
        ):
            lease.settle(exact)
            if fails:
                raise ValueError("x")
    assert admission.tokens == 0


def refused(admission: Admission) -> float:
    with admission.lease(100, 100), pytest.raises(Overloaded) as error, admission.lease(50, 100):
        pass
    return error.value.retry_after_s


def work(admission: Admission, clock: Clock, *, tokens: int, seconds: float) -> None:
    with admission.lease(tokens, 100):
        clock.now += seconds


def test_before_anything_has_left_the_time_to_come_again_is_a_second(admission):
    assert refused(admission) == 1.0


def test_the_time_to_come_again_follows_the_rate_that_work_leaves_with(admission, clock):
    for _ in range(200):
        work(admission, clock, tokens=10, seconds=0.1)
    assert refused(admission) == pytest.approx(50 / 100, rel=0.2)
    for _ in range(100):
        work(admission, clock, tokens=10, seconds=1.0)
    assert refused(admission) == pytest.approx(50 / 10, rel=0.2)


def test_a_pause_does_not_make_the_rate_look_slow(admission, clock):
    for _ in range(200):
        work(admission, clock, tokens=10, seconds=0.1)
    before = refused(admission)
    clock.now += 3600
    assert refused(admission) == pytest.approx(before, rel=0.2)


def test_nobody_is_sent_away_for_longer_than_ten_seconds(admission, clock):
    work(admission, clock, tokens=10, seconds=100.0)
    assert refused(admission) == 10.0


def test_bodies_are_bounded_together_and_one_alone_is_let_in(admission):
    with admission.body() as take:
        take(800)
        with pytest.raises(Overloaded), admission.body() as other:
            other(300)
        take(700)
        assert admission.bytes == 1500
    assert admission.bytes == 0
