"""NetworkPolicies by their own words: who gets to which port of engines, gateways and the operator."""

import json
from typing import Any

import pytest
import yaml
from e2ekit.helm import CHART, Helm
from e2ekit.policy import Peer, admits
from monitorkit.programs import NAMESPACE, model
from trellis_operator.desired import names
from trellis_operator.desired.network import engine_policy
from trellis_operator.desired.setting import ClusterSetting

PROMETHEUS = Peer("monitoring", {"app.kubernetes.io/name": "prometheus"})
STRANGER = Peer(NAMESPACE, {"app": "web"})
SETTING = ClusterSetting(engine_image="e:1", gateway_image="g:1", fetch_image="f:1")
PORTS = {"grpc": names.GRPC_PORT, "metrics": names.ENGINE_METRICS_PORT, "http": names.HTTP_PORT}


def pod(component: str) -> Peer:
    return Peer(NAMESPACE, names.labels(model(), component), PORTS)


def policy(ingress: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    spec = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": ingress} | more
    return {"metadata": {"namespace": NAMESPACE}, "spec": spec}


def reaches(caller: Peer, component: str, port: str) -> bool:
    return admits([engine_policy(model(), SETTING)], caller, pod(component), PORTS[port])


def test_prometheus_reads_metrics_of_engines_gateways_and_downloads() -> None:
    assert reaches(PROMETHEUS, "engine", "metrics")
    assert reaches(PROMETHEUS, "gateway", "http")
    assert reaches(PROMETHEUS, "download", "metrics")


def test_nobody_but_gateways_calls_engines_and_nobody_but_prometheus_reads_them() -> None:
    assert reaches(pod("gateway"), "engine", "grpc")
    assert not reaches(pod("gateway"), "engine", "metrics")
    assert not reaches(PROMETHEUS, "engine", "grpc")
    assert not reaches(STRANGER, "engine", "metrics")
    assert not reaches(STRANGER, "engine", "grpc")


def test_a_gateway_of_another_namespace_is_a_stranger() -> None:
    elsewhere = Peer("elsewhere", names.labels(model(), "gateway"))
    assert not admits([engine_policy(model(), SETTING)], elsewhere, pod("engine"), names.GRPC_PORT)


@pytest.mark.parametrize("named", [True, False])
def test_the_charts_policy_lets_in_whoever_it_was_told_to(named: bool) -> None:
    sender = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    flags = ("--set-json", f"networkPolicy.metricsFrom={json.dumps([sender])}")
    made = _operators_policy(*(flags if named else ()))
    operator = Peer("trellis-system", made["spec"]["podSelector"]["matchLabels"], {"metrics": 9100})
    assert admits([made], PROMETHEUS, operator, 9100)
    assert admits([made], STRANGER, operator, 9100) is not named
    assert not admits([made], PROMETHEUS, operator, 8081)


def _operators_policy(*flags: str) -> dict[str, Any]:
    asked = ("--set", "networkPolicy.enabled=true", *flags)
    where = ("--namespace", "trellis-system", "--kube-version", "1.34.0")
    text = Helm().run("template", "trellis", str(CHART), *where, *asked)
    [found] = [each for each in yaml.safe_load_all(text) if each and each["kind"] == "NetworkPolicy"]
    return dict(found)


def test_where_no_policy_is_about_a_pod_everybody_gets_in() -> None:
    away = policy([]) | {"metadata": {"namespace": "elsewhere"}}
    egress = policy([], policyTypes=["Egress"])
    assert admits([away, egress], STRANGER, pod("engine"), 1)
    assert not admits([policy([])], STRANGER, pod("engine"), 1)


def test_rules_add_up_and_an_empty_one_allows_all() -> None:
    narrow = policy([{"ports": [{"port": 1}]}])
    assert not admits([narrow], STRANGER, pod("engine"), 2)
    assert admits([narrow, policy([{"ports": [{"port": 2}]}])], STRANGER, pod("engine"), 2)
    assert admits([policy([{}])], STRANGER, pod("engine"), 2)
    assert not admits([policy([{"ports": [{"port": 2, "protocol": "UDP"}]}])], STRANGER, pod("engine"), 2)


def test_what_is_not_understood_is_not_waved_through() -> None:
    block = policy([{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}])
    with pytest.raises(AssertionError, match="not understood"):
        admits([block], STRANGER, pod("engine"), 1)
