"""Who is asked, who is left out, whose digest counts: decisions on made-up engines, with a made-up clock."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ivy.client.card import Card
from ivy.client.endpoint import PATIENCE, Endpoint
from ivy.client.picking import (
    FAILURES_TO_EJECT,
    FIRST_EJECTION_S,
    LONGEST_EJECTION_S,
    ejection_s,
    not_ejected,
    pick,
    pinned,
    set_aside,
)
from ivy.client.retry_budget import RESERVE, RetryBudget
from ivy.client.speed import Speed
from ivy.client.target import Standing

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
        assert sum(each.ejected_until > LATE for each in able) > len(able) // 2


def test_the_one_that_was_asked_before_is_avoided():
    first, second = engine("a"), engine("b", outstanding=10**9)
    assert picks([first, second], avoid=first) == {"b": 2000}
    assert pick([first], "one", 1, LATE, Random(0), first) is None


def test_a_new_engine_gets_less_until_it_is_warm():
    old, new = engine("old", outstanding=300), engine("new", since=LATE, outstanding=100)
    assert picks([old, new], now=LATE) == {"old": 2000}
    assert picks([old, new], now=LATE + old.slow_start_s) == {"new": 2000}


def test_a_slow_start_of_no_time_is_none():
    new = engine("new", since=LATE)
    new.slow_start_s = 0.0
    assert new.share(LATE) == 1.0


def test_an_idle_engine_in_its_slow_start_is_asked_by_its_share():
    shares = []
    for age in (0.0, 2.5, 5.0, 10.0):
        chosen = picks([engine("old"), engine("new", since=LATE)], now=LATE + age, count=8000)
        shares.append(chosen["new"] / chosen.total())
    assert shares == sorted(shares)
    assert shares[0] < 0.15
    assert 0.45 < shares[-1] < 0.55


def simulated(endpoints, arrivals, work_s, joins):
    """Calls that arrive at given times with given tokens, each engine working its queue off in order.

    Yields:
        For each call its time, the engine that got it, and each engine's outstanding tokens after that.
    """
    random, free_at, under_way = Random(7), Counter(), []
    for now, tokens in arrivals:
        for done in [each for each in under_way if each[0] <= now]:
            under_way.remove(done)
            done[1].outstanding_tokens -= done[2]
            done[1].speed.answered(done[3], done[0] - done[4], done[0])
        chosen = pick([each for each in endpoints if joins.get(each.address, 0.0) <= now], "one", tokens, now, random)
        chosen.outstanding_tokens += tokens
        free_at[chosen.address] = max(free_at[chosen.address], now) + tokens * work_s[chosen.address]
        under_way.append((free_at[chosen.address], chosen, tokens, chosen.outstanding_tokens, now))
        yield now, chosen.address, {each.address: each.outstanding_tokens for each in endpoints}


def arrivals(rate: float, seconds: float, seed: int = 3):
    random, now = Random(seed), 0.0
    while (now := now + random.expovariate(rate)) < seconds:
        yield now, random.choice([12, 40, 250])


@pytest.mark.parametrize("rate", [5.0, 60.0, 110.0])
def test_a_new_engine_takes_its_share_within_fifteen_seconds_and_no_burst_before(rate):
    endpoints = [engine("a", since=-99.0), engine("b", since=-99.0), engine("new", since=20.0)]
    work_s = dict.fromkeys("ab", 0.0001 * 1.2) | {"new": 0.0001 * 1.2}
    calls = list(simulated(endpoints, arrivals(rate, 120.0), work_s, {"new": 20.0}))
    early = [(where, left) for now, where, left in calls if 20.0 <= now < 22.0]
    late = Counter(where for now, where, _ in calls if now >= 35.0)
    assert sum(where == "new" for where, _ in early) <= max(0.25 * len(early), 2)
    assert all(left["new"] <= max(left["a"], left["b"]) + 250 for _, left in early)
    assert 0.25 < late["new"] / late.total() < 0.42


def test_an_engine_that_is_clearly_slower_gets_clearly_less_but_never_nothing():
    endpoints = [engine("fast"), engine("slow")]
    work_s = {"fast": 0.0001, "slow": 0.0003}
    chosen = Counter(where for now, where, _ in simulated(endpoints, arrivals(20.0, 120.0), work_s, {}) if now > 10)
    assert 0.02 < chosen["slow"] / chosen.total() < 0.4


def test_an_engine_that_was_slow_once_is_asked_again_soon():
    endpoints = [engine("a"), engine("b")]
    for each, seconds in zip(endpoints, (0.01, 10.0), strict=True):
        each.speed.answered(100, seconds, LATE)
    assert picks(endpoints, now=LATE) == {"a": 2000}
    assert 800 < picks(endpoints, now=LATE + 10)["b"] < 1200


def test_small_differences_in_speed_do_not_count():
    endpoints = [engine("a"), engine("b")]
    for each, seconds in zip(endpoints, (0.01, 0.014), strict=True):
        each.speed.answered(100, seconds, LATE)
    assert 800 < picks(endpoints, now=LATE)["b"] < 1200


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


@given(st.lists(st.floats(0, 2 * LATE), min_size=1, max_size=9), st.integers(0, 8))
def test_half_of_the_engines_are_always_asked_also_when_others_go_away(ejected_until, kept):
    endpoints = [engine(str(place)) for place in range(len(ejected_until))]
    for endpoint, until in zip(endpoints, ejected_until, strict=True):
        endpoint.ejected_until = until
    left = endpoints[kept:]
    able = not_ejected(left, LATE)
    assert len(able) >= len(left) - len(left) // 2
    assert all(each in able for each in left if each.ejected_until <= LATE)


def test_engines_that_are_not_ready_where_they_were_found_are_the_last_resort():
    good, doubtful = engine("good"), engine("doubtful")
    doubtful.standing = Standing.UNREADY
    assert picks([good, doubtful]) == {"good": 2000}
    assert picks([good, doubtful], avoid=good) == {"doubtful": 2000}
    good.ready = False
    assert picks([good, doubtful]) == {"doubtful": 2000}


def test_an_engine_on_its_way_out_gets_nothing_new_unless_no_other_can_answer_and_it_still_does():
    staying, leaving = engine("staying"), engine("leaving")
    leaving.standing = Standing.LEAVING
    assert picks([staying, leaving]) == {"staying": 2000}
    staying.standing = Standing.UNREADY
    assert picks([staying, leaving]) == {"staying": 2000}
    staying.ready = False
    leaving.seen_down()
    assert picks([staying, leaving]) == {"leaving": 2000}
    leaving.seen_lost()
    assert not picks([staying, leaving])


def test_an_engine_begins_its_slow_start_when_it_first_gets_work():
    new = engine("new", since=0.0)
    new.stand(Standing.UNREADY, 5.0)
    new.stand(Standing.READY, LATE)
    assert new.share(LATE) < 0.2
    new.stand(Standing.READY, LATE + 10)
    assert new.share(LATE + 10) == 1.0


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


def holding(name: str, contents: str, *, texts: str = "t", ready_since: float = 0.0) -> Endpoint:
    """An engine of the model `one` that has loaded these files."""
    found = engine(name, f"one+{contents}")
    return replace(found, card=replace(found.card, texts=texts, ready_since=ready_since))


def test_of_engines_with_other_contents_those_of_the_longest_ready_are_asked_and_stay():
    old, new = holding("a", "x", ready_since=1.0), holding("b", "y", ready_since=2.0)
    assert pinned("one", "one", [new, old]) == "one+x"
    assert pinned(None, None, [new, old]) == "one+x"
    assert pinned("one", "one+y", [new, old]) == "one+y"
    assert set_aside("one+y", [new, old]) == {"a"}
    new.ready = False
    assert pinned("one", "one+y", [new, old]) == "one+x"
    assert set_aside("one+x", [new, old]) == set()


def test_contents_are_left_when_the_last_engine_that_holds_them_goes_and_another_stays():
    old, new = holding("a", "x", ready_since=1.0), holding("b", "y", ready_since=2.0)
    old.standing = Standing.LEAVING
    assert pinned("one", "one+x", [old, new]) == "one+y"
    new.standing = Standing.LEAVING
    assert pinned("one", "one+x", [old, new]) == "one+x"


def test_an_engine_that_has_read_another_tokenizer_is_not_asked():
    strange, right, silent = holding("a", "x", texts="u"), holding("b", "y"), holding("c", "z", texts="")
    assert pinned("one", "one", [strange], "t") == "one"
    assert pinned("one", "one", [strange, right], "t") == "one+y"
    assert pinned("one", "one", [strange, silent], "t") == "one+z"
    assert pinned("one", "one", [strange]) == "one+x"
    assert pinned(None, None, [strange], "t") == "one+x", "nobody has said which model it is to be"


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
