"""How several slices become one set of engines: pure, on slices of every shape."""

from hypothesis import given
from hypothesis import strategies as st
from ivy.client.target import Standing, Target
from ivy.cluster.backends import Backend, Slice, State, merged
from ivy.cluster.follower import targets

READY, NOT_READY, TERMINATING = State.READY, State.NOT_READY, State.TERMINATING


def backend(address: str, instance: str = "", state: State = READY, *, is_v6: bool = False) -> Backend:
    return Backend(address, instance or address, state, is_v6)


def one(*backends: Backend, name: str = "a") -> Slice:
    return Slice(name, backends)


_BACKENDS = st.builds(
    Backend,
    address=st.sampled_from(["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1", "[fd00::1]:1"]),
    instance=st.sampled_from(["p", "q", "r", "s"]),
    state=st.sampled_from(State),
    is_v6=st.just(False),
)
_SLICES = st.lists(st.builds(Slice, name=st.uuids().map(str), backends=st.lists(_BACKENDS, max_size=5).map(tuple)))


@given(_SLICES, st.randoms())
def test_the_order_of_slices_and_of_endpoints_means_nothing(slices, random):
    shuffled = [Slice(each.name, tuple(random.sample(each.backends, len(each.backends)))) for each in slices]
    random.shuffle(shuffled)
    assert merged(shuffled) == merged(slices)


@given(_SLICES)
def test_a_slice_that_is_seen_twice_means_what_it_means_once(slices):
    assert merged(slices + slices) == merged(slices)


@given(_SLICES)
def test_no_engine_is_in_the_set_that_is_in_no_slice_and_none_is_there_twice(slices):
    found = merged(slices)
    seen = [each for one_slice in slices for each in one_slice.backends]
    assert {(each.address, each.instance) for each in found} <= {(each.address, each.instance) for each in seen}
    assert len({each.address for each in found}) == len(found) == len({each.instance for each in found})


@given(_SLICES)
def test_every_pod_is_in_the_set_unless_another_one_has_its_address(slices):
    found = merged(slices)
    seen = {each.instance: each.address for one_slice in slices for each in one_slice.backends}
    addresses = {each.address for each in found}
    for instance in seen.keys() - {each.instance for each in found}:
        own = {each.address for one_slice in slices for each in one_slice.backends if each.instance == instance}
        assert own & addresses


@given(_SLICES)
def test_what_one_slice_says_is_terminating_gets_nothing_new_whatever_the_others_say(slices):
    ending = {each.instance for a in slices for each in a.backends if each.state is TERMINATING}
    assert all(each.standing is Standing.LEAVING for each in targets(merged(slices)) if each.instance in ending)


def test_an_endpoint_in_two_slices_is_one_engine_and_ready_when_either_says_so():
    slices = [one(backend("10.0.0.1:1", "p", NOT_READY)), one(backend("10.0.0.1:1", "p"), name="b")]
    assert merged(slices) == {backend("10.0.0.1:1", "p", READY)}


def test_a_pod_with_an_address_in_each_family_is_one_engine():
    v4, v6 = backend("10.0.0.1:1", "p"), backend("[fd00::1]:1", "p", is_v6=True)
    assert merged([one(v6), one(v4, name="b")]) == {v4}
    assert merged([one(v6)]) == {v6}


def test_a_new_pod_at_the_address_of_one_that_goes_is_used():
    old, new = backend("10.0.0.1:1", "z-old", TERMINATING), backend("10.0.0.1:1", "a-new", NOT_READY)
    assert merged([one(old, new)]) == {new}


def test_engines_are_told_with_what_the_cluster_says_of_them():
    states = {"p": READY, "q": NOT_READY, "r": TERMINATING}
    found = merged([one(*(backend(f"10.0.0.{pod}:1", pod, state) for pod, state in states.items()))])
    assert targets(found) == [
        Target("10.0.0.p:1", "p", Standing.READY),
        Target("10.0.0.q:1", "q", Standing.UNREADY),
        Target("10.0.0.r:1", "r", Standing.LEAVING),
    ]
