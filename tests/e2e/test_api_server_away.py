"""Condition 3: the API server is away for a while. What serves goes on, and what was asked meanwhile is done after."""

import time

import pytest
from e2ekit.client import Client
from e2ekit.cluster import Cluster
from e2ekit.counts import restarts, writes
from e2ekit.kubectl import Kubectl, RefusedError
from e2ekit.models import children, manifest, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.waiting import throughout, until

pytestmark = pytest.mark.cluster

TEXTS = [["one"], ["two", "three"]]
AWAY_S = 120


@pytest.fixture
def unled(cluster: Cluster, operator: OperatorProcess) -> OperatorProcess:
    """An operator without a Lease: it outlives an API server that is away for longer than any lease lasts."""
    if not cluster.own:
        pytest.skip("stops the API server: only on a cluster of our own")
    operator.stop()
    operator.flags = ("--no-leader-election",)
    operator.start()
    return operator


def answers(kubectl: Kubectl) -> bool:
    try:
        kubectl.run("get", "namespace", "default", timeout_s=10)
    except RefusedError:
        return False
    return True


def test_traffic_goes_on_while_the_api_server_is_away_and_the_operator_finds_what_it_missed(
    kubectl: Kubectl, cluster: Cluster, unled: OperatorProcess, client: Client
) -> None:
    kubectl.apply(manifest("m", engine={"replicas": 2}), manifest("leaves"))
    wait_settled(kubectl, "m")
    wait_settled(kubectl, "leaves")
    url = f"http://m.{kubectl.namespace}.svc"
    known = {"as before": [client.embed(url, "m", texts).encoded for texts in TEXTS]}
    load = client.load(url, "m", TEXTS, known, clients=1)
    cluster.tool("stop", "kube-apiserver")
    gone = time.time()
    try:
        throughout(lambda: unled.alive, "the operator waits", AWAY_S)
        back = time.time()
    finally:
        cluster.tool("start", "kube-apiserver")
    until(lambda: answers(kubectl), "the API server is back", 60)
    kubectl.patch("embeddingmodel", "m", {"spec": {"engine": {"replicas": 1}}})
    kubectl.delete("embeddingmodel", "leaves")
    kubectl.run("delete", "pdb", "m-engine")
    until(lambda: kubectl.get("deployment", "m-engine")["spec"]["replicas"] == 1, "the change is seen", 90)
    until(lambda: kubectl.find("pdb", "m-engine"), "the missing child is made again", 90)
    # Kubernetes' own garbage collector takes its time after such an outage.
    until(lambda: not children(kubectl, "leaves"), "what was deleted stays so", 240)
    wait_settled(kubectl, "m")
    load.stop().assert_clean(least=50)
    counts = load.answered(gone, back)
    assert len(counts) > AWAY_S / 2, "the load tells once a second what it has seen"
    assert all(later > earlier for earlier, later in zip(counts, counts[10:], strict=False)), f"traffic stood: {counts}"
    before = writes(unled)
    throughout(lambda: writes(unled) == before, "nothing is written", 10)
    assert restarts(unled, "away") > 0


def test_an_operator_with_a_lease_ends_when_it_cannot_renew_it_and_begins_again(
    kubectl: Kubectl, cluster: Cluster, operator: OperatorProcess
) -> None:
    if not cluster.own:
        pytest.skip("stops the API server: only on a cluster of our own")
    kubectl.apply(manifest())
    wait_settled(kubectl, "m")
    cluster.tool("stop", "kube-apiserver")
    try:
        until(lambda: not operator.alive, "the operator ends", 60)
    finally:
        cluster.tool("start", "kube-apiserver")
    assert operator.process is not None
    assert operator.process.returncode == 1
    until(lambda: answers(kubectl), "the API server is back", 60)
    operator.start()
    kubectl.patch("embeddingmodel", "m", {"spec": {"gateway": {"replicas": 2}}})
    until(lambda: kubectl.get("deployment", "m-gateway")["spec"]["replicas"] == 2, "the change is seen", 60)
    wait_settled(kubectl, "m")
