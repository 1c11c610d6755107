"""The plan: what is applied and what is deleted, and that nothing is where all is as wanted."""

import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trellis_operator.desired.all import desired
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.drift import difference
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.plan import APPLY, DELETE, fingerprint, plan
from trellis_operator.spec import EmbeddingModel

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]
Observe = Callable[[Iterable[Body]], Observed]
INNER = "ingress.0.from.0.namespaceSelector"

scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.text("abc", max_size=3)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "a", "b", "uid"]), inner),
    max_leaves=12,
)


@given(values)
def test_nothing_differs_from_itself(value: Any) -> None:
    assert difference(value, copy.deepcopy(value)) is None


@given(st.dictionaries(st.sampled_from("abc"), values), st.dictionaries(st.sampled_from("xyz"), values))
def test_what_others_added_is_no_difference(ours: Body, theirs: Body) -> None:
    assert difference(ours, ours | theirs) is None


@pytest.mark.parametrize(
    ("wanted", "seen", "path"),
    [
        ({"a": 1}, {"a": 2}, "a"),
        ({"a": {"b": "x"}}, {"a": {}}, "a.b"),
        ({"a": [1, 2]}, {"a": [1]}, "a"),
        ({"c": [{"name": "x", "image": "1"}]}, {"c": [{"name": "y"}, {"name": "x", "image": "2"}]}, "c.x.image"),
        ({"c": [{"name": "x", "image": "1"}]}, {"c": [{"name": "y"}, {"name": "x", "image": "1"}]}, None),
        ({"c": [{"name": "x"}]}, {}, "c.x.name"),
        ({"requests": {"cpu": "1000m"}}, {"requests": {"cpu": "1"}}, None),
        ({"requests": {"cpu": 2}}, {"requests": {"cpu": "2"}}, None),
        ({"requests": {"memory": "1Gi"}}, {"requests": {"memory": "1G"}}, "requests.memory"),
        ({"replicas": 0}, {}, None),
        ({"emptyDir": {}}, {}, None),
        (
            {"parentRefs": [{"name": "x"}]},
            {"parentRefs": [{"name": "x", "sectionName": "s"}]},
            "parentRefs.0.sectionName",
        ),
        ({"selector": {"a": "b"}}, {"selector": {"a": "b", "c": "d"}}, "selector.c"),
        ({"from": [{"namespaceSelector": {}}]}, {"from": [{}]}, None),
        ({"ingress": [{"from": [{"namespaceSelector": {}}]}]}, {"ingress": [{"from": [{}]}]}, INNER),
        ({"ingress": [{"from": [{}]}]}, {"ingress": [{"from": [{"namespaceSelector": {}}]}]}, INNER),
        ({"subjects": [{"name": "x"}]}, {"subjects": [{"name": "x"}, {"name": "y"}]}, "subjects"),
        ({"parentRefs": [{"name": "x"}]}, {"parentRefs": [{"name": "x"}, {"name": "public"}]}, "parentRefs"),
        ({"hostnames": []}, {"hostnames": ["a.example"]}, "hostnames"),
        ({"hostnames": []}, {}, None),
    ],
)
def test_a_difference_is_named_by_its_path(wanted: Body, seen: Body, path: str | None) -> None:
    assert difference(wanted, seen) == path


def changed(before: Body, after: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe) -> set[str]:
    """Kinds of the objects that another manifest changes."""
    secrets = {"hf": "1", "keys": "2"}
    there = as_observed(desired(in_cluster(before), setting, secrets))
    return {action.target[0] for action in plan(desired(in_cluster(after), setting, secrets), there).actions}


def test_what_the_manifest_names_no_more_is_taken_back(
    full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    gateway, less = full["spec"]["gateway"], copy.deepcopy(full)
    gateway["expose"] = {
        "service": {"annotations": {"example.com/public": "yes", "example.com/name": "m"}},
        "httpRoute": {"parentRefs": [{"name": "inside"}, {"name": "public"}], "hostnames": ["m.example"]},
    }
    expose = less["spec"]["gateway"]["expose"] = copy.deepcopy(gateway["expose"])
    expose["service"]["annotations"].pop("example.com/public")
    assert changed(full, less, in_cluster, setting, as_observed) == {"Service"}
    expose["httpRoute"]["parentRefs"].pop()
    assert changed(full, less, in_cluster, setting, as_observed) == {"Service", "HTTPRoute"}
    del expose["service"]["annotations"]
    expose["httpRoute"] = {"parentRefs": gateway["expose"]["httpRoute"]["parentRefs"]}
    assert changed(full, less, in_cluster, setting, as_observed) == {"Service", "HTTPRoute"}


@pytest.fixture(params=["minimal", "full"])
def wanted(request: pytest.FixtureRequest, in_cluster: Read, setting: ClusterSetting) -> list[Body]:
    return desired(in_cluster(request.getfixturevalue(request.param)), setting, {"hf": "1", "keys": "2"})


def test_where_nothing_is_all_is_applied_in_order(wanted: list[Body]) -> None:
    actions = plan(wanted, Observed()).actions
    assert [action.body for action in actions] == wanted
    assert {action.reason for action in actions} == {"absent"}


def test_where_all_is_as_wanted_nothing_is_done(wanted: list[Body], as_observed: Observe) -> None:
    assert not plan(wanted, as_observed(wanted))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all leaves that say something."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*path, index))
    elif value not in (None, "", False, 0):
        yield path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(data=st.data())
def test_any_field_that_was_changed_is_put_back_by_one_apply_of_that_object(
    data: st.DataObject, full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    wanted = [each for each in desired(in_cluster(copy.deepcopy(full)), setting, {}) if each["kind"] != "Job"]
    victim = data.draw(st.sampled_from(wanted))
    path = data.draw(
        st.sampled_from(
            [
                each
                for each in places(victim)
                if each[0] not in ("kind", "apiVersion") and each[:2] != ("metadata", "name")
            ]
        )
    )
    observed = as_observed(wanted)
    at: Any = observed.children[victim["kind"], victim["metadata"]["name"]]
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = "someone else's"
    actions = plan(wanted, observed).actions
    assert [(action.verb, action.body) for action in actions] == [(APPLY, victim)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(data=st.data())
def test_carrying_out_a_plan_leaves_nothing_to_do(
    data: st.DataObject, full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    wanted = desired(in_cluster(copy.deepcopy(full)), setting, {})
    there = data.draw(
        st.lists(st.sampled_from(wanted), unique_by=lambda each: (each["kind"], each["metadata"]["name"]))
    )
    observed = as_observed(there)
    applied = as_observed(action.body for action in plan(wanted, observed).actions)
    assert not plan(wanted, Observed({**observed.children, **applied.children}))


def test_what_is_asked_for_no_more_goes_by_its_uid(
    full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    observed = as_observed(desired(in_cluster(full), setting, {}))
    del full["spec"]["engine"]["autoscaling"]
    [action] = plan(desired(in_cluster(full), setting, {}), observed).actions
    assert (action.verb, action.target) == (DELETE, ("HorizontalPodAutoscaler", "qwen3-embed-engine"))
    assert action.uid == "uid-qwen3-embed-engine"


def test_what_pods_read_stays_until_no_older_pod_is_left(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    before = desired(in_cluster(minimal), setting, {})
    minimal["spec"]["embedding"]["pooling"] = "cls"
    after = desired(in_cluster(minimal), setting, {})
    old = [each for each in before if each["kind"] == "ConfigMap"]
    assert len(old) == 2
    rolling = as_observed([*after, *old])
    rolling.children["Deployment", "all-minilm-l6-v2-engine"]["status"]["updatedReplicas"] = 0
    assert not plan(after, rolling)
    actions = plan(after, as_observed([*after, *old])).actions
    assert [(action.verb, action.target[1]) for action in actions] == [
        (DELETE, each["metadata"]["name"]) for each in old
    ]


def test_what_a_download_reads_stays_until_it_has_ended(
    full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    before = desired(in_cluster(copy.deepcopy(full)), setting, {})
    full["spec"]["embedding"]["pooling"] = "cls"
    # Pods wait for the download: there is no Deployment yet.
    after = [each for each in desired(in_cluster(full), setting, {}) if each["kind"] != "Deployment"]
    [job] = [each for each in before if each["kind"] == "Job"]
    [name] = [each["configMap"]["name"] for each in job["spec"]["template"]["spec"]["volumes"] if "configMap" in each]
    observed = as_observed(each for each in before if each["kind"] != "Deployment")
    assert ("ConfigMap", name) not in {each.target for each in plan(after, observed).actions}
    observed.children["Job", job["metadata"]["name"]]["status"] = {"succeeded": 1}
    assert (DELETE, ("ConfigMap", name)) in {(each.verb, each.target) for each in plan(after, observed).actions}


def test_an_object_on_its_way_out_is_waited_for(wanted: list[Body], as_observed: Observe) -> None:
    observed = as_observed(wanted)
    leaving = next(child for (kind, _), child in observed.children.items() if kind == "Service")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    leaving["spec"]["selector"] = {}
    assert not plan(wanted, observed)


def test_what_an_api_server_keeps_otherwise_is_applied_once(wanted: list[Body], as_observed: Observe) -> None:
    observed = as_observed(wanted)
    target = ("Service", next(each["metadata"]["name"] for each in wanted if each["kind"] == "Service"))
    seen = observed.children[target]
    seen["spec"]["ports"][0]["port"] = 8443
    [body] = [each for each in wanted if (each["kind"], each["metadata"]["name"]) == target]
    assert plan(wanted, observed)
    left_alone = {target: fingerprint(body, seen)}
    kept = plan(wanted, observed, left_alone)
    assert not kept
    assert kept.left_alone == {target}
    seen["spec"]["ports"][0]["port"] = 9443
    assert plan(wanted, observed, left_alone), "another change is looked at anew"


def test_a_job_is_never_applied_twice_since_it_cannot_be_changed(
    full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    model = in_cluster(full)
    observed = as_observed(desired(model, setting, {}))
    newer = dataclasses.replace(setting, fetch_image="f:2")
    assert not [action for action in plan(desired(model, newer, {}), observed).actions if action.target[0] == "Job"]
