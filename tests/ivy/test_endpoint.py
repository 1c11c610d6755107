"""What a gateway keeps of one engine: its slow start, its speed, its leases and its silence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ivy.client.endpoint import PATIENCE
from ivy.client.speed import Speed
from ivy.client.target import Standing
from pickingkit.engines import LATE, engine


def test_a_slow_start_of_no_time_is_none():
    new = engine("new", since=LATE)
    new.slow_start_s = 0.0
    assert new.share(LATE) == 1.0


@given(st.lists(st.tuples(st.integers(1, 4096), st.floats(0.001, 1.0), st.floats(0, 1)), min_size=1, max_size=20))
def test_a_smoothed_speed_lies_between_those_it_was_made_of(calls):
    speed, now = Speed(), 0.0
    for tokens, seconds, pause in calls:
        now += pause
        speed.answered(tokens, seconds, now)
    paces = [seconds / tokens for tokens, seconds, _ in calls]
    found = speed.seconds_per_token(now)
    assert min(paces) * 0.999 <= found <= max(paces) * 1.001
    assert speed.seconds_per_token(now + 60.0) is None


def test_an_engine_begins_its_slow_start_when_it_first_gets_work():
    new = engine("new", since=0.0)
    new.stand(Standing.UNREADY, 5.0)
    new.stand(Standing.READY, LATE)
    assert new.share(LATE) < 0.2
    new.stand(Standing.READY, LATE + 10)
    assert new.share(LATE + 10) == 1.0


def test_a_lease_counts_until_its_end_whatever_happens():
    endpoint = engine("a")

    def call() -> None:
        with endpoint.lease(7):
            assert endpoint.outstanding_tokens == 7
            raise TimeoutError

    with pytest.raises(TimeoutError):
        call()
    assert endpoint.outstanding_tokens == 0


def test_a_busy_engine_may_be_slow_to_say_so_but_not_for_ever():
    endpoint = engine("a")
    for _ in range(PATIENCE - 1):
        endpoint.seen_silent()
    assert endpoint.ready
    endpoint.seen_silent()
    assert not endpoint.ready
