"""Which engines each of several gateways takes, where there are too many for all: laws, on any names and numbers."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ivy.client.subset import COVER, Nearness, subset

ENGINES = [f"engine-{number}" for number in range(1000)]
_NAMES = st.text("abcdef0123456789-", min_size=1, max_size=12)
_SETS = st.lists(_NAMES, unique=True, max_size=40)
_BOUNDS = st.integers(1, 20)


def gateways(count: int) -> list[str]:
    return [f"gateway-{number}" for number in range(count)]


def taken(gateway, peers, engines, bound, failing=()) -> list[str]:
    return subset(Nearness(gateway, peers), engines, bound, {*failing}.__contains__)


def all_taken(peers, engines, bound) -> dict[str, set[str]]:
    return {each: set(taken(each, peers, engines, bound)) for each in peers}


def held(by_gateway: dict[str, set[str]], engines) -> list[int]:
    """How many gateways each engine has."""
    found = Counter(engine for chosen in by_gateway.values() for engine in chosen)
    return [found[engine] for engine in engines]


@given(_SETS, _SETS.filter(bool), _BOUNDS, st.randoms())
def test_the_same_names_in_any_order_give_the_same_engines(engines, peers, bound, random):
    shuffled = random.sample(engines, len(engines)), random.sample(peers, len(peers))
    assert set(taken(peers[0], peers, engines, bound)) == set(taken(peers[0], shuffled[1], shuffled[0], bound))


@given(_SETS, _SETS, _BOUNDS)
def test_up_to_the_bound_a_gateway_takes_all_engines(engines, peers, bound):
    if len(engines) <= bound:
        assert taken("me", peers, engines, bound) == engines


@given(_SETS, _SETS, _BOUNDS, st.sets(st.integers(0, 39)))
def test_there_are_as_many_that_do_not_fail_as_the_bound_says_or_as_there_are(engines, peers, bound, failing):
    down = {engines[number] for number in failing if number < len(engines)}
    chosen = taken("me", peers, engines, bound, down)
    assert len(chosen) == len({*chosen})
    assert {*chosen} <= {*engines}
    assert len({*chosen} - down) >= min(bound, len(engines) - len(down))


@given(_SETS, _SETS.filter(bool), _BOUNDS)
def test_every_engine_has_a_gateway(engines, peers, bound):
    assert all(held(all_taken(peers, engines, bound), engines))


@given(_SETS.filter(bool), _SETS.filter(bool), _BOUNDS, st.data())
def test_an_engine_that_goes_moves_itself_and_the_one_that_takes_its_place_and_no_other(engines, peers, bound, data):
    gone = data.draw(st.sampled_from(engines))
    rest = [each for each in engines if each != gone]
    before, after = (set(taken(peers[0], peers, those, bound)) for those in (engines, rest))
    assert len(after - before) <= 1
    # One more may go where fewer engines need fewer connections to be covered.
    assert len(before - after - {gone}) <= 1


@given(_SETS, _SETS.filter(bool), _BOUNDS, st.data())
def test_an_engine_that_fails_is_kept_and_one_that_did_not_serve_before_comes_beside_it(engines, peers, bound, data):
    before = taken(peers[0], peers, engines, bound)
    if len(engines) > bound:
        failed = data.draw(st.sampled_from(before))
        after = taken(peers[0], peers, engines, bound, {failed})
        assert after[: len(before)] == before
        assert len(after) - len(before) <= 1


@pytest.mark.parametrize(("count", "bound"), [(3, 300), (10, 300), (30, 300), (100, 300), (100, 30)])
def test_engines_have_nearly_as_many_gateways_as_one_another(count, bound):
    found = held(all_taken(gateways(count), ENGINES, bound), ENGINES)
    mean = sum(found) / len(found)
    assert mean == pytest.approx(max(bound * count / len(ENGINES), COVER), rel=0.05)
    assert min(found) >= mean - 3
    assert max(found) <= mean + 3


def test_alone_a_gateway_takes_all_and_one_that_knows_of_no_others_keeps_to_the_bound():
    assert len(taken("me", ["me"], ENGINES, 300)) == 1000
    assert len(taken("me", [], ENGINES, 300)) == 300


@pytest.mark.parametrize("count", [4, 8, 20, 60])
def test_a_gateway_that_goes_moves_a_small_part_of_what_the_others_hold(count):
    peers = gateways(count)
    before, after = all_taken(peers, ENGINES, 300), all_taken(peers[1:], ENGINES, 300)
    fewer = [len(before[each] - after[each]) for each in peers[1:]]
    assert sum(fewer) / len(fewer) <= 250 / count


def test_what_is_known_of_engines_that_are_gone_is_forgotten():
    nearness = Nearness("me", gateways(3))
    nearness.order(ENGINES)
    nearness.order(ENGINES[:3])
    assert len(nearness._places) == 3
