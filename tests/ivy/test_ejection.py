"""Who is left out, and for how long: engines that fail in a row, and never more than half of all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ivy.client.picking import FAILURES_TO_EJECT, FIRST_EJECTION_S, LONGEST_EJECTION_S, ejection_s, not_ejected
from pickingkit.engines import LATE, engine


@given(st.lists(st.floats(0, 2 * LATE), min_size=1, max_size=9), st.integers(0, 8))
def test_half_of_the_engines_are_always_asked_also_when_others_go_away(ejected_until, kept):
    endpoints = [engine(str(place)) for place in range(len(ejected_until))]
    for endpoint, until in zip(endpoints, ejected_until, strict=True):
        endpoint.ejected_until = until
    left = endpoints[kept:]
    able = not_ejected(left, LATE)
    assert len(able) >= len(left) - len(left) // 2
    assert all(each in able for each in left if each.ejected_until <= LATE)


def test_an_engine_is_ejected_after_failures_in_a_row_for_twice_as_long_each_time():
    endpoints = [engine("a"), engine("b")]
    for failures in range(FAILURES_TO_EJECT):
        endpoints[0].failures = failures
        assert ejection_s(endpoints[0], endpoints, LATE) == 0
    endpoints[0].failures = FAILURES_TO_EJECT
    times = []
    for ejections in range(10):
        endpoints[0].ejections = ejections
        times.append(ejection_s(endpoints[0], endpoints, LATE))
    assert times[:3] == [FIRST_EJECTION_S, 2 * FIRST_EJECTION_S, 4 * FIRST_EJECTION_S]
    assert times[-1] == LONGEST_EJECTION_S


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_never_more_than_half_of_the_engines_are_ejected(size):
    endpoints = [engine(str(place)) for place in range(size)]
    for endpoint in endpoints:
        endpoint.failures = FAILURES_TO_EJECT
        endpoint.ejected_until = LATE + ejection_s(endpoint, endpoints, LATE)
    assert sum(each.ejected_until > LATE for each in endpoints) == size // 2
