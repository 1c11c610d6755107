"""What scales the engines of a model, and what the status says of it."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from trellis_operator.desired.all import desired
from trellis_operator.desired.scaler import scaler_lacks
from trellis_operator.desired.setting import Authentication, ClusterSetting
from trellis_operator.intent import gateway_intent, same, written
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.plan import plan
from trellis_operator.scaling.formula import UNMEASURED_ACCELERATED, UNMEASURED_ON_CPU, Targets
from trellis_operator.scaling.promql import need_query
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.status import conditions
from trellis_operator.status.view import View, view

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]
Observe = Callable[[Iterable[Body]], Observed]
URL = "http://prometheus.monitoring:9090"


@pytest.fixture
def keda(setting: ClusterSetting) -> ClusterSetting:
    """A cluster with KEDA, and an operator that knows a Prometheus."""
    return dataclasses.replace(setting, served=setting.served | {"ScaledObject"}, prometheus_url=URL)


@pytest.fixture
def scaled(minimal: Body) -> Body:
    """The small example, from none to four engines."""
    minimal["spec"].setdefault("engine", {})["autoscaling"] = {
        "minReplicas": 0,
        "maxReplicas": 4,
        "targetQueuedTokens": 5000,
        "targetUtilizationPercent": 80,
        "rateWindowSeconds": 60,
        "scaleDownStabilizationSeconds": 120,
    }
    return minimal


def scalers(objects: Iterable[Body]) -> list[Body]:
    return [each for each in objects if each["kind"] in ("ScaledObject", "HorizontalPodAutoscaler")]


def seen(model: EmbeddingModel, setting: ClusterSetting, observed: Observed) -> View:
    return view(model, observed, {}, scaler_lacks=scaler_lacks(model, setting))


def said(of: View) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in conditions(of)}


def with_keda_saying(observed: Observed, **condition: str) -> Observed:
    [child] = [each for (kind, _), each in observed.children.items() if kind == "ScaledObject"]
    child["status"] = {"conditions": [{"type": "Ready", **condition}]}
    return observed


def test_with_keda_a_scaled_object_scales_the_model_by_the_need(
    scaled: Body, in_cluster: Read, keda: ClusterSetting
) -> None:
    model = in_cluster(scaled)
    [found] = scalers(desired(model, keda, {}))
    assert (found["kind"], found["apiVersion"], found["metadata"]["name"]) == (
        "ScaledObject",
        "keda.sh/v1alpha1",
        f"{model.name}-engine",
    )
    spec = found["spec"]
    assert spec["scaleTargetRef"] == {
        "apiVersion": "trellis.dev/v1alpha1",
        "kind": "EmbeddingModel",
        "name": model.name,
    }
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (0, 4)
    assert (spec["cooldownPeriod"], spec["initialCooldownPeriod"]) == (120, 120)
    [trigger] = spec["triggers"]
    assert (trigger["type"], trigger["metricType"]) == ("prometheus", "AverageValue")
    metadata = trigger["metadata"]
    assert (metadata["serverAddress"], metadata["threshold"], metadata["ignoreNullValues"]) == (URL, "1", "false")
    assert "[60s]" in metadata["query"]
    assert "/ 5000" in metadata["query"]
    assert "* 0.8" in metadata["query"]
    assert f'namespace="search",embedding_model="{model.name}"' in metadata["query"]


def test_a_model_may_name_a_prometheus_of_its_own(scaled: Body, in_cluster: Read, keda: ClusterSetting) -> None:
    scaled["spec"]["engine"]["autoscaling"]["prometheusUrl"] = "https://thanos:443/x"
    none = dataclasses.replace(keda, prometheus_url=None)
    for setting in (keda, none):
        [found] = scalers(desired(in_cluster(scaled), setting, {}))
        assert found["spec"]["triggers"][0]["metadata"]["serverAddress"] == "https://thanos:443/x"


def test_without_a_number_what_may_wait_goes_by_what_engines_were_measured_to_do(
    scaled: Body, in_cluster: Read, keda: ClusterSetting, setting: ClusterSetting
) -> None:
    del scaled["spec"]["engine"]["autoscaling"]["targetQueuedTokens"]
    scaled["spec"]["engine"]["autoscaling"]["targetWaitSeconds"] = 7
    for accelerator, unmeasured in ((None, UNMEASURED_ON_CPU), ({}, UNMEASURED_ACCELERATED)):
        if accelerator is not None:
            scaled["spec"]["engine"]["accelerator"] = accelerator
        model = in_cluster(scaled)
        [found] = scalers(desired(model, keda, {}))
        accelerated = accelerator is not None
        asked = Targets(None, 0.8, 0, 4, wait_s=7, unmeasured_tokens=unmeasured, accelerated=accelerated)
        assert found["spec"]["triggers"][0]["metadata"]["query"] == need_query("search", model.name, asked, 60)
        # Who goes by waiting tokens alone knows no capacity.
        [plain] = scalers(desired(model, setting, {}))
        assert plain["spec"]["metrics"][0]["pods"]["target"]["averageValue"] == str(unmeasured)


def test_keda_shows_the_operators_prometheus_who_it_is_and_nobody_elses(
    scaled: Body, in_cluster: Read, keda: ClusterSetting
) -> None:
    who = Authentication("ClusterTriggerAuthentication", "prometheus", ("tls", "bearer"))
    known = dataclasses.replace(keda, prometheus_authentication=who)
    [found] = scalers(desired(in_cluster(scaled), known, {}))
    [trigger] = found["spec"]["triggers"]
    assert trigger["authenticationRef"] == {"kind": "ClusterTriggerAuthentication", "name": "prometheus"}
    assert trigger["metadata"]["authModes"] == "tls,bearer"
    scaled["spec"]["engine"]["autoscaling"]["prometheusUrl"] = "https://thanos:443/x"
    for elsewhere in (known, dataclasses.replace(known, prometheus_url=None)):
        [found] = scalers(desired(in_cluster(scaled), elsewhere, {}))
        [trigger] = found["spec"]["triggers"]
        assert "authenticationRef" not in trigger
        assert "authModes" not in trigger["metadata"]


def test_an_authentication_that_was_taken_away_is_shown_no_more(
    scaled: Body, in_cluster: Read, keda: ClusterSetting, as_observed: Observe
) -> None:
    who = Authentication("ClusterTriggerAuthentication", "prometheus", ("tls", "bearer"))
    model = in_cluster(scaled)
    before = as_observed(desired(model, dataclasses.replace(keda, prometheus_authentication=who), {}))
    [action] = plan(desired(model, keda, {}), before).actions
    assert str(action) == f"apply ScaledObject {model.name}-engine: spec.triggers.0.authenticationRef differs"


@pytest.mark.parametrize(
    ("change", "reason"), [({"served": frozenset()}, "KedaNotInstalled"), ({"prometheus_url": None}, "NoPrometheus")]
)
def test_where_keda_or_prometheus_is_missing_the_condition_says_what_to_do(
    scaled: Body, in_cluster: Read, keda: ClusterSetting, as_observed: Observe, change: Body, reason: str
) -> None:
    model, bare = in_cluster(scaled), dataclasses.replace(keda, **change)
    objects = desired(model, bare, {})
    assert [each["kind"] for each in scalers(objects)] == ["HorizontalPodAutoscaler"]
    assert said(seen(model, bare, as_observed(objects)))["Autoscaled"] == ("False", reason)
    assert said(seen(model, bare, as_observed(objects)))["Ready"] == ("True", "Serving")


def test_the_autoscaler_goes_when_keda_comes(
    scaled: Body, in_cluster: Read, keda: ClusterSetting, as_observed: Observe
) -> None:
    model = in_cluster(scaled)
    before = as_observed(desired(model, dataclasses.replace(keda, served=frozenset()), {}))
    actions = plan(desired(model, keda, {}), before).actions
    assert ("apply", "ScaledObject") in [(each.verb, each.target[0]) for each in actions]
    assert ("delete", "HorizontalPodAutoscaler") in [(each.verb, each.target[0]) for each in actions]


def test_nothing_is_written_while_keda_scales_and_writes_its_own_fields(
    scaled: Body, in_cluster: Read, keda: ClusterSetting, as_observed: Observe
) -> None:
    model = in_cluster(scaled)
    observed = as_observed(desired(model, keda, {}))
    [child] = [each for (kind, _), each in observed.children.items() if kind == "ScaledObject"]
    child["metadata"] |= {"finalizers": ["finalizer.keda.sh"]}
    child["metadata"]["labels"]["scaledobject.keda.sh/name"] = child["metadata"]["name"]
    child["status"] = {"hpaName": "keda-hpa-x", "lastActiveTime": "2026-01-01T00:00:00Z"}
    assert not plan(desired(model, keda, {}), observed)


@pytest.mark.parametrize("replicas", [0, 1, 3])
def test_the_engines_follow_what_the_scaler_has_written(
    scaled: Body, in_cluster: Read, keda: ClusterSetting, replicas: int
) -> None:
    scaled["spec"]["engine"]["replicas"] = replicas
    objects = desired(in_cluster(scaled), keda, {})
    [engine] = [
        each for each in objects if each["metadata"]["name"].endswith("-engine") and each["kind"] == "Deployment"
    ]
    assert engine["spec"]["replicas"] == replicas
    assert all("replicas" not in each["spec"] for each in scalers(objects))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"status": "True", "reason": "ScaledObjectReady"}, ("True", "FollowsDemand")),
        ({"status": "False", "reason": "TriggerError", "message": "no answer."}, ("False", "TriggerError")),
        ({"status": "False", "reason": ""}, ("False", "Failed")),
        ({"status": "Unknown", "reason": "x"}, ("Unknown", "Starting")),
    ],
)
def test_the_condition_says_what_keda_says(
    scaled: Body,
    in_cluster: Read,
    keda: ClusterSetting,
    as_observed: Observe,
    condition: dict[str, str],
    expected: tuple[str, str],
) -> None:
    model = in_cluster(scaled)
    observed = with_keda_saying(as_observed(desired(model, keda, {})), **condition)
    assert said(seen(model, keda, observed))["Autoscaled"] == expected


def test_a_suspended_model_is_not_scaled(scaled: Body, in_cluster: Read, keda: ClusterSetting) -> None:
    scaled["spec"]["suspend"] = True
    model = in_cluster(scaled)
    assert not scalers(desired(model, keda, {}))
    assert said(seen(model, keda, Observed()))["Autoscaled"] == ("False", "Suspended")


def test_a_model_that_sleeps_is_ready_for_requests_and_not_degraded(
    scaled: Body, in_cluster: Read, keda: ClusterSetting, as_observed: Observe
) -> None:
    scaled["spec"]["engine"]["replicas"] = 0
    model = in_cluster(scaled)
    found = said(seen(model, keda, as_observed(desired(model, keda, {}))))
    assert found["Ready"] == ("True", "Asleep")
    assert found["EngineAvailable"] == ("False", "ScaledToZero")
    assert found["Degraded"] == ("False", "AsAskedFor")
    assert found["Progressing"] == ("True", "Complete")


def test_without_keda_nobody_would_wake_a_model_so_it_is_not_ready(
    scaled: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    scaled["spec"]["engine"]["replicas"] = 0
    model = in_cluster(scaled)
    found = said(seen(model, setting, as_observed(desired(model, setting, {}))))
    assert found["Ready"][0] == "False"
    assert found["EngineAvailable"] == ("False", "ScaledToZero")


def test_gateways_hold_requests_only_where_engines_come_from_zero(
    scaled: Body, in_cluster: Read, keda: ClusterSetting
) -> None:
    scaled["spec"]["gateway"] = {"hold": {"timeoutSeconds": 77, "maxTokens": 555}}

    def command() -> list[str]:
        [found] = [
            each
            for each in desired(in_cluster(scaled), keda, {})
            if each["kind"] == "Deployment" and each["metadata"]["name"].endswith("-gateway")
        ]
        return list(found["spec"]["template"]["spec"]["containers"][0]["command"])

    told = command()
    assert told[told.index("--hold-seconds") + 1] == "77"
    assert told[told.index("--max-held-tokens") + 1] == "555"
    scaled["spec"]["engine"]["autoscaling"]["minReplicas"] = 1
    assert "--hold-seconds" not in command()


def test_gateways_roll_when_a_model_begins_to_come_from_zero_and_not_for_other_scaling(
    scaled: Body, in_cluster: Read
) -> None:
    asleep = written(gateway_intent(in_cluster(scaled), {}))
    scaled["spec"]["engine"]["autoscaling"] |= {"minReplicas": 1}
    awake = written(gateway_intent(in_cluster(scaled), {}))
    scaled["spec"]["engine"]["autoscaling"] |= {"minReplicas": 2, "maxReplicas": 3}
    assert same(awake, gateway_intent(in_cluster(scaled), {}))
    assert not same(asleep, gateway_intent(in_cluster(scaled), {}))
    assert "wakes" not in awake, "an operator that does not know of it must find the same"


def test_numbers_stand_in_the_query_as_they_are() -> None:
    query = need_query("search", "m", Targets(1234567.0, 0.07, 0, 1), 90)
    assert "/ 1234567," in query
    assert "* 0.07)" in query
