"""Of engines and gateways that come and go, which engines a gateway is told to hold."""

from dataclasses import dataclass, field, replace

import pytest
from ivy.client.card import Card
from ivy.client.endpoint import Endpoint
from ivy.client.nearby import Nearby
from ivy.client.target import Standing, Target

CARD = Card("a", 8, frozenset(), 16, 100, 16, 16)
BOUND, SLOW_START_S = 4, 10.0


def engines(count: int) -> list[Target]:
    return [Target(f"10.0.0.{number}:1", f"uid-{number}") for number in range(count)]


def gateways(*names: str, standing: Standing = Standing.READY) -> list[Target]:
    return [Target(f"{name}:1", f"uid-{name}", standing, name) for name in names]


@dataclass
class Holder:
    """In place of `Engines`: keeps what it is told."""

    held: list[Target] = field(default_factory=list)
    down: set[str] = field(default_factory=set)

    def on_change(self, told) -> None:
        self.changed = told

    def failing(self) -> frozenset[str]:
        return frozenset(self.down & self.names())

    def replace(self, targets) -> None:
        self.held = targets
        self.changed()

    def names(self) -> set[str]:
        return {each.instance for each in self.held}

    def fail(self, *names: str) -> None:
        self.down = {*names}
        self.changed()


@dataclass
class World:
    """A `Nearby`, what it holds, and a clock."""

    nearby: Nearby
    holder: Holder
    connected: list[float]
    now: list[float]


@pytest.fixture
def world(config) -> World:
    holder, connected, now = Holder(), [], [1000.0]
    own = replace(config, gateway_name="me", max_engines=BOUND, slow_start_s=SLOW_START_S)
    return World(Nearby(own, holder, connected.append, lambda: now[0]), holder, connected, now)


def test_up_to_the_bound_all_are_held_and_beyond_it_as_many_as_it_says(world):
    exceeded = []
    world.nearby.exceeded = lambda: exceeded.append(True)
    world.nearby.know(engines(BOUND))
    assert (len(world.holder.held), exceeded) == (BOUND, [])
    world.nearby.know(engines(50))
    assert (len(world.holder.held), exceeded) == (BOUND, [True])
    assert world.connected == [BOUND, BOUND]


def test_one_that_fails_is_kept_and_another_one_held_until_it_is_back(world):
    world.nearby.know(engines(50))
    before = world.holder.names()
    failed = min(before)
    world.holder.fail(failed)
    assert world.holder.names() > before
    assert len(world.holder.held) == BOUND + 1
    world.holder.fail()
    assert world.holder.names() == before


def test_where_nearly_all_fail_those_are_found_that_do_not(world):
    world.nearby.know(engines(50))
    world.holder.fail(*(f"uid-{number}" for number in range(47)))
    assert {"uid-47", "uid-48", "uid-49"} <= world.holder.names()


def test_an_engine_that_is_not_ready_or_leaves_takes_nobodys_place(world):
    known = engines(50)
    for standing in (Standing.UNREADY, Standing.LEAVING):
        mixed = [replace(each, standing=standing) if number % 2 else each for number, each in enumerate(known)]
        world.nearby.know(mixed)
        assert sum(each.standing is Standing.READY for each in world.holder.held) == BOUND


def test_the_more_gateways_there_are_the_fewer_engines_each_holds_and_never_fewer_than_the_bound(world):
    world.nearby.know(engines(50))
    found = []
    for count in (1, 2, 5, 10, 50):
        world.nearby.meet(gateways("me", *(f"other-{number}" for number in range(count - 1))))
        found.append(len(world.holder.held))
    assert found == [50, 50, 20, 10, BOUND]


def test_a_gateway_that_is_not_ready_counts_only_while_none_is(world):
    world.nearby.know(engines(50))
    starting = gateways(*(f"new-{number}" for number in range(9)), standing=Standing.UNREADY)
    world.nearby.meet(starting)
    assert len(world.holder.held) == 10
    world.nearby.meet([*starting, *gateways("me", "one", "two", "three", "four")])
    assert len(world.holder.held) == 20
    leaving = gateways("three", "four", standing=Standing.LEAVING)
    world.nearby.meet([*starting, *leaving, *gateways("me", "one")])
    assert len(world.holder.held) == 50


def test_gateways_that_are_the_same_ones_as_before_choose_nothing_anew(world):
    world.nearby.know(engines(50))
    world.nearby.meet(gateways("me", "one"))
    chosen = len(world.connected)
    leaving = gateways("three", standing=Standing.LEAVING)
    world.nearby.meet([*gateways("one", "me"), *leaving])
    assert len(world.connected) == chosen
    world.nearby.meet(gateways("me", "one", "two"))
    assert len(world.connected) == chosen + 1


def test_an_engine_that_has_been_ready_for_long_is_held_without_a_slow_start(world):
    world.nearby.know(engines(50))
    assert not any(each.warm for each in world.holder.held)
    before = world.holder.names()
    world.now[0] += SLOW_START_S / 2
    world.nearby.know([*engines(50), *gateways("new")])
    world.now[0] += SLOW_START_S / 2
    world.holder.fail(*before)
    taken = [each for each in world.holder.held if each.instance not in before]
    assert len(taken) == BOUND
    assert {each.instance: each.warm for each in taken} == {each.instance: each.instance != "uid-new" for each in taken}


def test_a_warm_engine_has_its_full_share_at_once_and_a_new_one_comes_to_it():
    for warm, share in ((True, 1.0), (False, 0.1)):
        endpoint = Endpoint("a", slow_start_s=SLOW_START_S, warm=warm)
        endpoint.seen_ready(CARD, 50.0)
        assert endpoint.share(50.0) == share
    # Once it has been away, it is as new.
    endpoint = Endpoint("a", slow_start_s=SLOW_START_S, warm=True)
    endpoint.seen_ready(CARD, 50.0)
    endpoint.seen_lost()
    endpoint.seen_ready(CARD, 60.0)
    assert endpoint.share(60.0) == 0.1


def test_an_engine_fails_once_it_was_looked_at_and_cannot_be_asked():
    endpoint = Endpoint("a")
    assert not endpoint.fails(None)
    endpoint.seen_ready(CARD, 1.0)
    assert not endpoint.fails(None)
    assert not endpoint.fails("a")
    assert endpoint.fails("another")
    endpoint.seen_down()
    assert endpoint.fails("a")
    endpoint.seen_ready(CARD, 2.0)
    endpoint.seen_lost()
    assert endpoint.fails(None)
