"""How engines are replaced, from the accelerators that are free."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from trellis_operator.desired.all import desired
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.capacity import Room, free_accelerators, room
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.rollout import IN_PLACE, SURGE, in_place, rolls, strategy
from trellis_operator.spec import EmbeddingModel

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]
Observe = Callable[[Iterable[Body]], Observed]


@pytest.mark.parametrize(
    ("asked", "accelerated", "replicas", "free", "chosen"),
    [
        ("auto", True, 2, 1, SURGE),
        ("auto", True, 2, 0, IN_PLACE),
        ("auto", True, 1, 0, SURGE),
        ("auto", True, 1, 1, SURGE),
        ("auto", True, 2, None, SURGE),
        ("auto", False, 2, 0, SURGE),
        ("surge", True, 2, 0, SURGE),
        ("inPlace", True, 1, 3, IN_PLACE),
        ("inPlace", False, 1, None, IN_PLACE),
    ],
)
def test_engines_surge_where_there_is_room_and_never_all_go_at_once_unless_asked(
    full: Body, in_cluster: Read, asked: str, accelerated: bool, replicas: int, free: int | None, chosen: Body
) -> None:
    engine = full["spec"]["engine"]
    engine |= {"rollout": {"strategy": asked}, "replicas": replicas}
    if not accelerated:
        del engine["accelerator"]
    assert strategy(in_cluster(full), None, None if free is None else Room(free, held=replicas)) == chosen


@pytest.mark.parametrize(("waiting", "chosen"), [(1, IN_PLACE), (0, SURGE)])
def test_an_engine_that_waits_for_a_node_tells_what_an_operator_may_not_look_up(
    full: Body, in_cluster: Read, waiting: int, chosen: Body
) -> None:
    assert strategy(in_cluster(full), None, None, waiting) == chosen


@pytest.mark.parametrize(("replicas", "chosen"), [(2, IN_PLACE), (1, SURGE)])
def test_an_engine_that_waits_for_a_node_is_believed_whatever_looks_free(
    full: Body, in_cluster: Read, replicas: int, chosen: Body
) -> None:
    full["spec"]["engine"]["replicas"] = replicas
    assert strategy(in_cluster(full), None, Room(1, held=replicas), waiting=1) == chosen


def rolling_by(current: Body, updated: int) -> Body:
    """An engine Deployment of two, so far with `updated` of the newest template."""
    return {
        "metadata": {"generation": 2},
        "spec": {"replicas": 2, "strategy": current},
        "status": {"observedGeneration": 2, "replicas": 2, "updatedReplicas": updated},
    }


@pytest.mark.parametrize(
    ("seen", "free", "chosen"),
    [
        (rolling_by(IN_PLACE, updated=1), 1, IN_PLACE),
        (rolling_by(SURGE, updated=1), 0, SURGE),
        (rolling_by(IN_PLACE, updated=2), 1, SURGE),
        (rolling_by(SURGE, updated=2), 0, IN_PLACE),
    ],
)
def test_what_was_chosen_when_a_rollout_began_stays_until_its_end_and_the_next_one_looks_again(
    full: Body, in_cluster: Read, seen: Body, free: int, chosen: Body
) -> None:
    assert strategy(in_cluster(full), seen, Room(free, held=2)) == chosen


def test_a_rollout_that_began_with_one_more_goes_on_in_place_once_that_one_waits(full: Body, in_cluster: Read) -> None:
    model = in_cluster(full)
    told = strategy(model, rolling_by(SURGE, updated=1), Room(1, held=2), waiting=1)
    assert told == IN_PLACE
    assert strategy(model, rolling_by(told, updated=1), Room(1, held=2), waiting=0) == IN_PLACE


@pytest.mark.parametrize(
    ("replicas", "room", "waiting", "missing"),
    [
        (3, Room(0, held=2), 1, 2),
        (3, Room(5, held=2), 1, 2),
        (3, None, 1, 2),
        (5, Room(0, held=2), 0, 4),
        (2, Room(0, held=1), 1, 1),
        (4, Room(0, held=1), 3, 3),
        (3, Room(0, held=0), 3, 3),
        (1, Room(0, held=0), 1, 1),
    ],
)
def test_engines_that_have_no_room_count_as_missing_and_the_last_one_that_serves_is_never_taken(
    full: Body, in_cluster: Read, replicas: int, room: Room | None, waiting: int, missing: int
) -> None:
    full["spec"]["engine"]["replicas"] = replicas
    assert strategy(in_cluster(full), rolling_by(SURGE, updated=2), room, waiting) == in_place(missing)


@pytest.mark.parametrize(
    ("replicas", "missing", "updated", "room", "waiting", "then"),
    [
        (3, 2, 1, Room(0, held=2), 1, 2),
        (3, 2, 1, Room(0, held=1), 2, 2),
        (3, 2, 1, Room(1, held=1), 2, 2),
        (3, 1, 1, Room(0, held=2), 1, 2),
        (3, 2, 1, Room(1, held=2), 0, 2),
        (3, 2, 1, None, 2, 2),
        (2, 3, 1, Room(0, held=2), 0, 1),
        (3, 3, 1, Room(0, held=1), 2, 2),
        (3, 1, 1, None, 2, 1),
    ],
)
def test_how_many_may_be_missing_only_grows_during_a_rollout_and_not_by_one_that_is_being_replaced(
    full: Body, in_cluster: Read, replicas: int, missing: int, updated: int, room: Room | None, waiting: int, then: int
) -> None:
    full["spec"]["engine"]["replicas"] = replicas
    seen = rolling_by(in_place(missing), updated)
    assert strategy(in_cluster(full), seen, room, waiting) == in_place(then)


@pytest.mark.parametrize(("accelerated", "waiting", "missing"), [(True, 1, 2), (False, 1, 2), (False, 0, 1)])
def test_a_person_who_asks_for_in_place_gets_it_for_engines_without_room_too(
    full: Body, in_cluster: Read, accelerated: bool, waiting: int, missing: int
) -> None:
    engine = full["spec"]["engine"]
    engine["rollout"] = {"strategy": "inPlace"}
    if not accelerated:
        del engine["accelerator"]
    assert strategy(in_cluster(full), rolling_by(in_place(2), updated=2), None, waiting) == in_place(missing)


def test_a_single_engine_is_never_taken_away_first_by_what_was_chosen_for_two(full: Body, in_cluster: Read) -> None:
    full["spec"]["engine"]["replicas"] = 1
    assert strategy(in_cluster(full), rolling_by(IN_PLACE, updated=0), None) == SURGE


def engine_of(objects: Iterable[Body]) -> Body:
    [found] = [
        each for each in objects if each["metadata"]["name"].endswith("-engine") and each["kind"] == "Deployment"
    ]
    return found


def test_nobody_looks_for_accelerators_while_nothing_rolls(
    full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    model = in_cluster(full)
    wanted = engine_of(desired(model, setting, {}))
    seen = engine_of(as_observed([wanted]).children.values())
    assert not rolls(model, wanted, None)
    assert not rolls(model, wanted, seen)
    rolling = copy.deepcopy(seen)
    rolling["status"]["updatedReplicas"] = 0
    assert rolls(model, wanted, rolling)
    unready = copy.deepcopy(seen)
    unready["status"]["readyReplicas"] = 0
    assert not rolls(model, wanted, unready)
    wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "e:2"
    assert rolls(model, wanted, seen)
    full["spec"]["engine"]["rollout"] = {"strategy": "surge"}
    assert not rolls(in_cluster(full), wanted, seen)


def test_a_strategy_stays_where_nobody_looked(full: Body, in_cluster: Read) -> None:
    full["spec"]["engine"]["rollout"] = {"strategy": "auto"}
    assert strategy(in_cluster(full), {"spec": {"strategy": IN_PLACE}}, None) == IN_PLACE


def node(name: str, gpus: str = "2", ready: str = "True", **more: Any) -> Body:
    return {
        "metadata": {
            "name": name,
            "labels": {"example.com/pool": "gpu", "kubernetes.io/arch": "amd64", "gen": "9", "zone": name},
        },
        "spec": more,
        "status": {"allocatable": {"nvidia.com/gpu": gpus}, "conditions": [{"type": "Ready", "status": ready}]},
    }


def pod(on: str, gpus: str, phase: str = "Running") -> Body:
    limits = {"nvidia.com/gpu": gpus}
    return {
        "spec": {"nodeName": on, "containers": [{"resources": {"limits": limits}}]},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("nodes", "pods", "free"),
    [
        ([node("a")], [], 2),
        ([node("a"), node("b")], [pod("a", "2"), pod("b", "1")], 1),
        ([node("a")], [pod("a", "2", "Succeeded"), pod("a", "1", "Failed")], 2),
        ([node("a", unschedulable=True)], [], 0),
        ([node("a", ready="Unknown")], [], 0),
        ([node("a") | {"metadata": {"name": "a", "labels": {"kubernetes.io/arch": "amd64"}}}], [], 0),
        ([node("a", taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}])], [], 2),
        ([node("a", taints=[{"key": "other", "effect": "NoSchedule"}])], [], 0),
        ([node("a", taints=[{"key": "other", "effect": "PreferNoSchedule"}])], [], 2),
        ([node("a")], [pod("elsewhere", "2"), pod("", "1", "Pending")], 2),
        ([node("a", gpus="1")], [pod("a", "2")], 0),
    ],
)
def test_an_accelerator_is_free_where_an_engine_may_run_and_nobody_has_it(
    full: Body, in_cluster: Read, nodes: list[Body], pods: list[Body], free: int
) -> None:
    assert free_accelerators(in_cluster(full), nodes, pods) == free


def engine_pod(phase: str = "Running", on: str = "a", instance: str = "qwen3-embed", namespace: str = "search") -> Body:
    labels = {"app.kubernetes.io/instance": instance, "app.kubernetes.io/component": "engine"}
    return pod(on, "1", phase) | {"metadata": {"namespace": namespace, "labels": labels}}


@pytest.mark.parametrize(
    ("pods", "held"),
    [
        ([engine_pod(), engine_pod("Pending")], 2),
        ([engine_pod("Failed"), engine_pod("Succeeded")], 0),
        ([engine_pod(on="")], 0),
        ([engine_pod(instance="another"), engine_pod(namespace="another")], 0),
        ([pod("a", "1") | {"metadata": {"namespace": "search"}}], 0),
    ],
)
def test_the_engines_of_a_model_that_are_on_nodes_are_counted_beside_what_is_free(
    full: Body, in_cluster: Read, pods: list[Body], held: int
) -> None:
    assert room(in_cluster(full), [node("a", gpus="9")], pods).held == held


def requiring(*terms: Body) -> Body:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def labelled(key: str, operator: str, *values: str) -> Body:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(operator: str, name: str) -> Body:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [name]}]}


@pytest.mark.parametrize(
    ("affinity", "free"),
    [
        ({}, 4),
        ({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}, 4),
        (requiring(labelled("zone", "In", "a", "c")), 2),
        (requiring(labelled("zone", "In", "c")), 0),
        (requiring(labelled("zone", "NotIn", "a")), 2),
        (requiring(labelled("absent", "NotIn", "a")), 4),
        (requiring(labelled("gen", "Exists")), 4),
        (requiring(labelled("absent", "Exists")), 0),
        (requiring(labelled("gen", "DoesNotExist")), 0),
        (requiring(labelled("absent", "DoesNotExist")), 4),
        (requiring(labelled("gen", "Gt", "8")), 4),
        (requiring(labelled("gen", "Gt", "9")), 0),
        (requiring(labelled("gen", "Lt", "10")), 4),
        (requiring(labelled("gen", "Lt", "9")), 0),
        (requiring(labelled("absent", "Lt", "9")), 0),
        (requiring(labelled("zone", "Gt", "1")), 0),
        (requiring(labelled("zone", "Gt", "1"), labelled("zone", "In", "a")), 2),
        (requiring(named("In", "b")), 2),
        (requiring(named("NotIn", "b")), 2),
        (requiring(named("In", "b") | labelled("zone", "In", "a")), 0),
        (requiring(named("In", "b"), labelled("zone", "In", "a")), 4),
        (requiring({}), 0),
        (requiring(), 0),
        (requiring(labelled("gen", "Gt", "many")), 0),
        (requiring(labelled("gen", "Near", "9")), 0),
        ({"nodeAffinity": "a"}, 0),
    ],
)
def test_an_accelerator_is_free_only_on_nodes_that_the_required_affinity_allows(
    full: Body, in_cluster: Read, affinity: Body, free: int
) -> None:
    full["spec"]["scheduling"]["affinity"] = affinity
    assert free_accelerators(in_cluster(full), [node("a"), node("b")], []) == free


def test_a_node_without_labels_is_allowed_by_what_asks_for_none(full: Body, in_cluster: Read) -> None:
    full["spec"]["scheduling"] |= {"affinity": requiring(labelled("gen", "DoesNotExist")), "nodeSelector": {}}
    bare = node("a")
    del bare["metadata"]["labels"]
    assert free_accelerators(in_cluster(full), [bare], []) == 2
