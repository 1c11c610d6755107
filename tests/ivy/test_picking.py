"""Who is asked: decisions on made-up engines, with a made-up clock."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ivy.client.picking import pick
from ivy.client.target import Standing
from pickingkit.engines import LATE, engine


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
