"""Who is asked, who is left out, whose digest counts: decisions on made-up engines, with a made-up clock."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ivy.client.card import Card
from ivy.client.endpoint import PATIENCE, Endpoint
from ivy.client.picking import FAILURES_TO_EJECT, FIRST_EJECTION_S, LONGEST_EJECTION_S, ejection_s, pick, pinned
from ivy.client.retry_budget import RESERVE, RetryBudget

LATE = 1000.0
"""Long after every engine's slow start."""


def engine(name: str, digest: str = "one", *, ready: bool = True, outstanding: int = 0, since: float = 0.0) -> Endpoint:
    card = Card(digest, 8, frozenset(), 256, 30522, 4096, 65536)
    return Endpoint(name, card, ready=ready, ready_since=since, outstanding_tokens=outstanding)


def picks(endpoints, now=LATE, tokens=1, count=2000, avoid=None) -> Counter:
    random = Random(0)
    chosen = (pick(endpoints, "one", tokens, now, random, avoid) for _ in range(count))
    return Counter(each.address for each in chosen if each)


def test_of_two_engines_the_less_loaded_is_asked():
    assert picks([engine("a", outstanding=500), engine("b")]) == {"b": 2000}


def test_of_many_engines_the_most_loaded_is_never_asked_and_the_others_are():
    chosen = picks([engine(str(load), outstanding=load * 100) for load in range(5)])
    assert chosen["4"] == 0
    assert chosen["0"] > chosen["1"] > chosen["2"] > chosen["3"] > 0


@given(
    states=st.lists(
        st.tuples(st.booleans(), st.sampled_from(["one", "two"]), st.integers(0, 99), st.floats(0, 2 * LATE)),
        max_size=6,
    ),
    seed=st.integers(),
)
def test_an_engine_that_is_not_ready_or_has_another_digest_is_never_asked(states, seed):
    endpoints = [
        engine(str(place), digest, ready=ready, outstanding=load)
        for place, (ready, digest, load, _) in enumerate(states)
    ]
    for endpoint, (*_, until) in zip(endpoints, states, strict=True):
        endpoint.ejected_until = until
    chosen = pick(endpoints, "one", 10, LATE, Random(seed))
    able = [each for each in endpoints if each.serves("one")]
    assert (chosen is None) == (not able)
    assert chosen is None or chosen in able
    if chosen is not None and chosen.ejected_until > LATE:
        assert all(each.ejected_until > LATE for each in able)


def test_the_one_that_was_asked_before_is_avoided():
    first, second = engine("a"), engine("b", outstanding=10**9)
    assert picks([first, second], avoid=first) == {"b": 2000}
    assert pick([first], "one", 1, LATE, Random(0), first) is None


def test_a_new_engine_gets_less_until_it_is_warm():
    old, new = engine("old", outstanding=300), engine("new", since=LATE, outstanding=100)
    assert picks([old, new], now=LATE) == {"old": 2000}
    assert picks([old, new], now=LATE + old.slow_start_s) == {"new": 2000}


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


def test_the_first_digest_stays_as_long_as_an_engine_of_it_is_ready():
    old, new = engine("a", "old"), engine("b", "new")
    assert pinned(None, None, [old, new]) == "old"
    assert pinned(None, "new", [old, new]) == "new"
    new.ready = False
    assert pinned(None, "new", [old, new]) == "old"
    old.ready = False
    assert pinned(None, "old", [old, new]) == "old"


def test_a_digest_that_was_asked_for_is_never_left():
    assert pinned("other", None, [engine("a", "old")]) == "other"


def test_a_retry_budget_lets_a_share_of_calls_be_asked_again():
    budget = RetryBudget(10)
    assert sum(budget.take() for _ in range(1000)) == RESERVE
    for _ in range(101):
        budget.paid()
    assert sum(budget.take() for _ in range(1000)) == 10


def test_without_a_budget_nothing_is_asked_again():
    budget = RetryBudget(0)
    budget.paid()
    assert not budget.take()
