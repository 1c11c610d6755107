"""Condition 1: a change of the spec while every accelerator is taken - no deadlock, and never nobody who serves."""

from collections.abc import Iterator

import pytest
from e2ekit.client import Client, Load
from e2ekit.kubectl import Kubectl
from e2ekit.models import ACCELERATOR, announce_accelerators, children, condition, manifest, wait_for, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.waiting import throughout, until

pytestmark = pytest.mark.cluster

TEXTS = [["a first text", "and a second one"], ["a third"]]
CHANGE = {"spec": {"engine": {"batching": {"maxBatchTokens": 2048}}}}


@pytest.fixture
def accelerators(kubectl: Kubectl) -> Iterator[Kubectl]:
    yield kubectl
    announce_accelerators(kubectl, 0)


def accelerated(replicas: int) -> dict[str, object]:
    return manifest(engine={"replicas": replicas, "accelerator": {"resourceName": ACCELERATOR}})


def under_load(kubectl: Kubectl, client: Client) -> Load:
    url = f"http://m.{kubectl.namespace}.svc"
    known = {"as before": [client.embed(url, "m", texts).encoded for texts in TEXTS]}
    return client.load(url, "m", TEXTS, known, clients=1)


def ready_engines(kubectl: Kubectl) -> int:
    return int(kubectl.get("deployment", "m-engine")["status"].get("readyReplicas", 0))


def test_two_engines_that_have_all_accelerators_change_one_after_the_other(
    accelerators: Kubectl, operator: OperatorProcess, client: Client
) -> None:
    kubectl = accelerators
    announce_accelerators(kubectl, 2)
    kubectl.apply(accelerated(2))
    wait_settled(kubectl, "m")
    load = under_load(kubectl, client)
    kubectl.patch("embeddingmodel", "m", CHANGE)
    wait_for(kubectl, "m", "Progressing", "True", "RollingOut")
    assert kubectl.get("deployment", "m-engine")["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == 0
    until(lambda: condition(kubectl, "m", "Progressing")[1] == "Complete" or not ready_engines(kubectl), "an end", 180)
    wait_settled(kubectl, "m")
    load.stop().assert_clean(least=10)
    assert "2048" in str(kubectl.get("deployment", "m-engine")["spec"]["template"])


def test_a_single_engine_goes_on_until_an_accelerator_frees_for_the_new_one(
    accelerators: Kubectl, operator: OperatorProcess, client: Client
) -> None:
    kubectl = accelerators
    announce_accelerators(kubectl, 1)
    kubectl.apply(accelerated(1))
    wait_settled(kubectl, "m")
    load = under_load(kubectl, client)
    kubectl.patch("embeddingmodel", "m", CHANGE)
    message = wait_for(kubectl, "m", "Progressing", "False", "NoCapacity")
    assert ACCELERATOR in message
    throughout(lambda: ready_engines(kubectl) == 1, "the old engine serves", 10)
    assert condition(kubectl, "m", "Ready")[0] == "True"
    announce_accelerators(kubectl, 2)
    wait_settled(kubectl, "m")
    load.stop().assert_clean(least=10)
    [pod] = children(kubectl, "m", "pods")[:1]
    assert pod["metadata"]["labels"]["app.kubernetes.io/instance"] == "m"


def test_an_engine_that_finds_no_accelerator_at_all_says_so(accelerators: Kubectl, operator: OperatorProcess) -> None:
    kubectl = accelerators
    kubectl.apply(accelerated(1))
    wait_for(kubectl, "m", "EngineAvailable", "False", "NoCapacity")
    wait_for(kubectl, "m", "Ready", "False")
    announce_accelerators(kubectl, 1)
    wait_settled(kubectl, "m")
