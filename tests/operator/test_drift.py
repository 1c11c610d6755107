"""What of an object is ours, field by field: whatever someone changes, adds or takes away there is seen."""

import copy
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from trellis_operator.desired.all import desired
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.errors import ManifestError
from trellis_operator.plan.drift import difference
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.plan import APPLY, plan
from trellis_operator.spec import EmbeddingModel

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]
Observe = Callable[[Iterable[Body]], Observed]
Path = tuple[Any, ...]

SECRETS = {"hf": "1", "keys": "2"}
IDENTITY = {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace")}
"""What an object is found by: with another one it would be another object."""


def paths(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All places in a body, the outer ones first, each with what is there."""
    if path:
        yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*path, key))


def at(body: Any, path: Path) -> Any:
    for key in path:
        body = body[key]
    return body


@pytest.fixture
def wanted(full: Body, in_cluster: Read, setting: ClusterSetting) -> list[Body]:
    """All objects of a manifest with every field but one, which is a pod's own. No Jobs: they are never changed."""
    del full["spec"]["scheduling"]["affinity"]
    model = in_cluster(full)
    with_keda = dataclasses.replace(setting, served=setting.served | {"ScaledObject"})
    scaled = [each for each in desired(model, with_keda, SECRETS) if each["kind"] == "ScaledObject"]
    return [*scaled, *(each for each in desired(model, setting, SECRETS) if each["kind"] != "Job")]


def named(each: Body, path: Path) -> str:
    """A place as the tables below name it."""
    return ".".join([each["kind"], *("*" if isinstance(key, int) else key for key in path)])


LEFT_OUT = {
    "Deployment.spec.strategy.rollingUpdate.maxUnavailable",
    "Deployment.spec.template.spec.enableServiceLinks",
    "Deployment.spec.template.spec.volumes.*.emptyDir",
    "Service.spec.publishNotReadyAddresses",
}
"""Fields that an API server leaves out where they say nothing, or fills in with another value, which is seen."""


def test_whatever_someone_takes_away_is_seen(wanted: list[Body]) -> None:
    unseen = set()
    for each in wanted:
        for path, _ in paths(each):
            seen = copy.deepcopy(each)
            del at(seen, path[:-1])[path[-1]]
            if path not in IDENTITY and difference(each, seen) is None:
                unseen.add(named(each, path))
    assert unseen == LEFT_OUT


def with_one_more(value: Any) -> Any:
    """A mapping with another field, or a list with another item like its own."""
    if isinstance(value, dict):
        return value | {"someone-elses": "x"}
    more = value[-1] if value else "x"
    if isinstance(more, dict):
        keys = {key: "someone-elses" for key in ("name", "uid", "mountPath") if key in more}
        return [*value, more | keys]
    return [*value, "someone-elses"]


OURS_AS_A_WHOLE = {
    "Deployment.spec.selector",
    "Deployment.spec.selector.matchLabels",
    "Deployment.spec.template.spec.containers.*.command",
    "Deployment.spec.template.spec.containers.*.securityContext.capabilities.drop",
    "Deployment.spec.template.spec.tolerations",
    "Deployment.spec.template.spec.topologySpreadConstraints",
    "HTTPRoute.spec.hostnames",
    "HTTPRoute.spec.parentRefs",
    "HTTPRoute.spec.parentRefs.*",
    "HTTPRoute.spec.rules",
    "HTTPRoute.spec.rules.*",
    "HTTPRoute.spec.rules.*.backendRefs",
    "HTTPRoute.spec.rules.*.backendRefs.*",
    "HTTPRoute.spec.rules.*.matches",
    "HTTPRoute.spec.rules.*.matches.*",
    "HTTPRoute.spec.rules.*.matches.*.path",
    "HorizontalPodAutoscaler.spec.metrics",
    "NetworkPolicy.spec.ingress",
    "NetworkPolicy.spec.ingress.*",
    "NetworkPolicy.spec.ingress.*.from",
    "NetworkPolicy.spec.ingress.*.from.*",
    "NetworkPolicy.spec.ingress.*.from.*.namespaceSelector",
    "NetworkPolicy.spec.ingress.*.from.*.namespaceSelector.matchLabels",
    "NetworkPolicy.spec.ingress.*.from.*.podSelector",
    "NetworkPolicy.spec.ingress.*.from.*.podSelector.matchLabels",
    "NetworkPolicy.spec.ingress.*.ports",
    "NetworkPolicy.spec.ingress.*.ports.*",
    "NetworkPolicy.spec.podSelector",
    "NetworkPolicy.spec.podSelector.matchLabels",
    "NetworkPolicy.spec.policyTypes",
    "PersistentVolumeClaim.spec.accessModes",
    "PodDisruptionBudget.spec.selector",
    "PodDisruptionBudget.spec.selector.matchLabels",
    "PodMonitor.spec.podMetricsEndpoints",
    "PodMonitor.spec.podMetricsEndpoints.*.relabelings",
    "PodMonitor.spec.podMetricsEndpoints.*.relabelings.*.sourceLabels",
    "PodMonitor.spec.selector",
    "PodMonitor.spec.selector.matchLabels",
    "Role.rules",
    "Role.rules.*",
    "Role.rules.*.apiGroups",
    "Role.rules.*.resources",
    "Role.rules.*.verbs",
    "RoleBinding.subjects",
    "RoleBinding.subjects.*",
    "ScaledObject.spec.triggers",
    "ScaledObject.spec.triggers.*",
    "ScaledObject.spec.triggers.*.metadata",
    "Service.spec.selector",
}
"""Mappings and lists in which one more is too much. In all others the API server lets others have their own."""


def test_what_someone_adds_is_seen_where_it_would_open_or_divert_something(wanted: list[Body]) -> None:
    seen = set()
    for each in wanted:
        for path, value in paths(each):
            if not isinstance(value, dict | list):
                continue
            more = copy.deepcopy(each)
            at(more, path[:-1])[path[-1]] = with_one_more(at(more, path))
            if difference(each, more) is not None:
                seen.add(named(each, path))
    assert seen == OURS_AS_A_WHOLE


def bodies(objects: Iterable[Body]) -> dict[tuple[str, str], str]:
    return {(each["kind"], each["metadata"]["name"]): json.dumps(each, sort_keys=True) for each in objects}


def test_whatever_a_manifest_names_or_names_no_more_is_applied_to_all_that_it_changes(
    full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    whole = desired(in_cluster(copy.deepcopy(full)), setting, SECRETS)
    tried = 0
    for path, _ in paths(full["spec"]):
        less = copy.deepcopy(full)
        del at(less["spec"], path[:-1])[path[-1]]
        try:
            part = desired(in_cluster(less), setting, SECRETS)
        except ManifestError:
            continue  # not a manifest without it
        for before, after in ((part, whole), (whole, part)):
            known = bodies(before)
            changes = {ref for ref, body in bodies(after).items() if ref in known and body != known[ref]}
            applied = {each.target for each in plan(after, as_observed(before)).actions if each.verb == APPLY}
            assert {(kind, name) for kind, name in changes if kind not in FIXED} <= applied, path
        tried += 1
    assert tried > 60


FIXED = {"PersistentVolumeClaim", "Job"}
"""Of one that is there the API server lets nobody change what a manifest says."""
