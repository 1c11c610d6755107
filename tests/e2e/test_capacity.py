"""Condition 1: a change of the spec while every accelerator is taken - no deadlock, and never nobody who serves."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from e2ekit.client import Client, Load
from e2ekit.cluster import Cluster
from e2ekit.gpu import Accelerators, accelerators, without_gpu
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl
from e2ekit.models import condition, manifest, wait_for, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.steady import pods
from e2ekit.waiting import throughout, until

pytestmark = pytest.mark.cluster

TEXTS = [["a first text", "and a second one"], ["a third"]]
CHANGE = {"spec": {"engine": {"batching": {"maxBatchTokens": 2048}}}}


@pytest.fixture
def gpus(kubectl: Kubectl) -> Iterator[Accelerators]:
    with accelerators(kubectl) as announced:
        yield announced


@pytest.fixture(scope="module")
def engines(cluster: Cluster, images: Images) -> Images:
    """Images whose engines take an accelerator that nobody has."""
    return without_gpu(cluster, images)


@pytest.fixture
def operator(cluster: Cluster, engines: Images, kubectl: Kubectl, tmp_path: Path) -> Iterator[OperatorProcess]:
    """An operator whose engines make do with what there is."""
    process = OperatorProcess(cluster, engines, kubectl.namespace, tmp_path / "operator.log")
    process.start()
    yield process
    process.stop()


def accelerated(gpus: Accelerators, replicas: int) -> dict[str, object]:
    return manifest(engine={"replicas": replicas, "accelerator": {"resourceName": gpus.resource}})


def under_load(kubectl: Kubectl, client: Client) -> Load:
    url = f"http://m.{kubectl.namespace}.svc"
    known = {"as before": [client.embed(url, "m", texts).encoded for texts in TEXTS]}
    return client.load(url, "m", TEXTS, known, clients=1)


def ready_engines(kubectl: Kubectl) -> int:
    return int(kubectl.get("deployment", "m-engine")["status"].get("readyReplicas", 0))


def test_two_engines_that_have_all_accelerators_change_one_after_the_other(
    gpus: Accelerators, kubectl: Kubectl, operator: OperatorProcess, client: Client
) -> None:
    gpus.announce(2)
    kubectl.apply(accelerated(gpus, 2))
    wait_settled(kubectl, "m")
    before = pods(kubectl, "engine")
    load = under_load(kubectl, client)
    kubectl.patch("embeddingmodel", "m", CHANGE)
    wait_for(kubectl, "m", "Progressing", "True", "RollingOut")
    assert kubectl.get("deployment", "m-engine")["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == 0

    def ended() -> bool:
        assert ready_engines(kubectl), "nobody serves"
        return condition(kubectl, "m", "Progressing")[1] == "Complete"

    until(ended, "an end", 180)
    wait_settled(kubectl, "m")
    load.stop().assert_clean(least=10)
    after = pods(kubectl, "engine")
    assert len(after) == 2
    assert not before.keys() & after.keys()
    assert "2048" in str(kubectl.get("deployment", "m-engine")["spec"]["template"])


def test_a_single_engine_goes_on_until_an_accelerator_frees_for_the_new_one(
    gpus: Accelerators, kubectl: Kubectl, operator: OperatorProcess, client: Client
) -> None:
    gpus.announce(1)
    kubectl.apply(accelerated(gpus, 1))
    wait_settled(kubectl, "m")
    [before] = pods(kubectl, "engine")
    load = under_load(kubectl, client)
    kubectl.patch("embeddingmodel", "m", CHANGE)
    message = wait_for(kubectl, "m", "Progressing", "False", "NoCapacity")
    assert gpus.resource in message
    throughout(lambda: ready_engines(kubectl) == 1, "the old engine serves", 10)
    assert condition(kubectl, "m", "Ready")[0] == "True"
    gpus.announce(2)
    wait_settled(kubectl, "m")
    load.stop().assert_clean(least=10)
    assert before not in pods(kubectl, "engine")


def test_an_engine_that_finds_no_accelerator_at_all_says_so(
    gpus: Accelerators, kubectl: Kubectl, operator: OperatorProcess
) -> None:
    kubectl.apply(accelerated(gpus, 1))
    message = wait_for(kubectl, "m", "EngineAvailable", "False", "NoCapacity")
    assert f"a free {gpus.resource}" in message
    wait_for(kubectl, "m", "Ready", "False")
    gpus.announce(1)
    wait_settled(kubectl, "m")
