"""From a spec to engines and gateways: where they run, how they start and stop, and who reaches them."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from desiredkit.objects import one, pod
from trellis_operator.desired.all import desired
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.spec import EmbeddingModel

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]


def test_engines_get_no_token_and_gateways_may_only_read_endpoint_slices(
    minimal: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    objects = desired(in_cluster(minimal), setting, {})
    assert pod(objects, "engine")["automountServiceAccountToken"] is False
    assert one(objects, "Role")["rules"] == [
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["get", "list", "watch"]}
    ]


def test_engines_are_reached_by_their_gateways_and_by_prometheus_alone(
    minimal: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    spec = one(desired(in_cluster(minimal), setting, {}), "NetworkPolicy")["spec"]
    selector = {"app.kubernetes.io/instance": "all-minilm-l6-v2", "app.kubernetes.io/component": "gateway"}
    [gateways, prometheus] = spec["ingress"]
    assert gateways == {
        "from": [{"podSelector": {"matchLabels": selector}}],
        "ports": [{"port": 50051, "protocol": "TCP"}],
    }
    assert prometheus["ports"] == [{"port": 9101, "protocol": "TCP"}]


def test_an_engine_on_an_accelerator_is_told_to_use_it_and_gets_one(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    [engine] = pod(desired(in_cluster(full), setting, {}), "engine")["containers"]
    assert engine["resources"] == {
        "requests": {"cpu": 2, "memory": "8Gi"},
        "limits": {"memory": "8Gi", "nvidia.com/gpu": "1"},
    }
    assert engine["command"][engine["command"].index("--device") + 1] == "cuda"


@pytest.mark.parametrize(
    ("resource", "device"),
    [
        (None, "cpu"),
        ("nvidia.com/gpu", "cuda"),
        ("example.com/accelerator", "auto"),
        ("trellis.dev/cpu-graphs", "cpu-graphs"),
    ],
)
def test_where_an_engine_runs_follows_its_accelerator(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, resource: str | None, device: str
) -> None:
    minimal["spec"]["engine"] = {"accelerator": {"resourceName": resource}} if resource else {}
    [engine] = pod(desired(in_cluster(minimal), setting, {}), "engine")["containers"]
    assert engine["command"][engine["command"].index("--device") + 1] == device
    assert ("--graphs" in engine["command"]) is (resource is not None)


@pytest.mark.parametrize(
    ("engine", "asks"),
    [({"accelerator": {}}, True), ({}, False), ({"accelerator": {}, "cudaGraphs": {"mode": "off"}}, False)],
)
def test_the_operator_may_ask_engines_that_can_have_graphs_and_no_others(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, engine: Body, asks: bool
) -> None:
    minimal["spec"]["engine"] = engine
    setting = dataclasses.replace(setting, operator_namespace="trellis-system")
    [callers, prometheus] = one(desired(in_cluster(minimal), setting, {}), "NetworkPolicy")["spec"]["ingress"]
    operator = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "trellis-system"}},
        "podSelector": {"matchLabels": {"app.kubernetes.io/component": "operator"}},
    }
    assert (operator in callers["from"]) is asks
    assert operator not in prometheus["from"]


def test_an_engine_takes_as_many_threads_as_it_gets_cores(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    [engine] = pod(desired(in_cluster(full), setting, {}), "engine")["containers"]
    assert engine["command"][engine["command"].index("--threads") + 1] == "2"


def test_a_warm_up_may_last_as_long_as_it_is_allowed_before_any_probe_kills(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    [engine] = pod(desired(in_cluster(full), setting, {}), "engine")["containers"]
    startup = engine["startupProbe"]
    # And then some: the engine ends itself after that time, and says what it waited for.
    assert startup["periodSeconds"] * startup["failureThreshold"] > 600
    assert engine["command"][engine["command"].index("--warmup-timeout-seconds") + 1] == "600"
    assert startup["grpc"] == {"port": 50051, "service": "readiness"}
    assert engine["livenessProbe"]["grpc"] == {"port": 50051, "service": "liveness"}


@pytest.mark.parametrize("component", ["engine", "gateway"])
def test_a_pod_is_given_longer_to_stop_than_its_drain_lasts(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, component: str
) -> None:
    minimal["spec"]["engine"]["drain"] = {"delaySeconds": 20, "timeoutSeconds": 100}
    assert pod(desired(in_cluster(minimal), setting, {}), component)["terminationGracePeriodSeconds"] > 120


def test_no_gateway_goes_before_a_new_one_serves_and_engines_stay_until_gateways_have_moved(
    minimal: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    objects = desired(in_cluster(minimal), setting, {})
    assert one(objects, "Deployment", "gateway")["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert one(objects, "Deployment", "engine")["spec"]["minReadySeconds"] > 10
