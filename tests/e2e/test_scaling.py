"""A model that real KEDA scales by a real Prometheus: from zero, up under load and down, and no request is lost."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from e2ekit.client import Client, Load
from e2ekit.cluster import Cluster
from e2ekit.counts import writes
from e2ekit.discovery import discovering
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.models import condition, manifest, wait_for, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.pod_monitor import jobs
from e2ekit.prometheus import Prometheus, running
from e2ekit.steady import INPUTS, LEAST, MODEL, Served, answers_of, is_ready, pods
from e2ekit.waiting import throughout, until
from trellis_operator.desired.monitor import pod_monitor
from trellis_operator.spec import EmbeddingModel

# Where nothing is cached, KEDA may still be building.
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(2700)]

NODE = "192.168.111.1"
"""An address of the first node: pods reach what listens there."""
CALM_S = 10
"""Without demand, until engines are taken away."""


def scaled_model() -> Manifest:
    """None to two engines, which are quick to come and to go."""
    return manifest(
        MODEL,
        embedding={"truncation": "end"},
        engine={
            "autoscaling": {
                "minReplicas": 0,
                "maxReplicas": 2,
                "targetUtilizationPercent": 10,
                "rateWindowSeconds": 10,
                "scaleDownStabilizationSeconds": CALM_S,
            },
            "drain": {"delaySeconds": 3, "timeoutSeconds": 30},
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "400Mi"}},
        },
    )


@pytest.fixture
def prometheus(cluster: Cluster, kubectl: Kubectl, tmp_path: Path) -> Iterator[Prometheus]:
    """A Prometheus that scrapes the model's pods as its PodMonitor says."""
    if not cluster.own:
        pytest.skip("pods reach a process of ours only on a cluster of our own")
    kubectl.apply(scaled_model())
    monitor = pod_monitor(EmbeddingModel.from_body(kubectl.get("embeddingmodel", MODEL)))
    with discovering(kubectl, tmp_path) as listed:
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": jobs(monitor, listed),
        }
        with running(tmp_path, config, cluster.enter, NODE) as prometheus:
            yield prometheus


@pytest.fixture
def operator(
    cluster: Cluster, images: Images, kubectl: Kubectl, keda: None, prometheus: Prometheus, tmp_path: Path
) -> Iterator[OperatorProcess]:
    """An operator that tells KEDA to ask that Prometheus."""
    flags = ("--prometheus-url", prometheus.url)
    process = OperatorProcess(cluster, images, kubectl.namespace, tmp_path / "operator.log", flags)
    process.start()
    yield process
    process.stop()


@contextmanager
def load(client: Client, served: Served, clients: int, pause_s: float = 0.0) -> Iterator[Load]:
    """Load for as long as the block lasts; then it must have been clean."""
    begun = client.load(served.url, served.name, INPUTS, {"first": served.vectors}, clients, pause_s)
    try:
        yield begun
    finally:
        seen = begun.stop()
    seen.assert_clean(least=LEAST)


def replicas(kubectl: Kubectl) -> int:
    """What the model is scaled to."""
    return int(kubectl.get("embeddingmodel", MODEL)["spec"]["engine"]["replicas"])


def ready_engines(kubectl: Kubectl) -> int:
    return sum(map(is_ready, pods(kubectl, "engine").values()))


def all_engines(kubectl: Kubectl) -> list[Manifest]:
    """With those that drain."""
    return kubectl.all("pods", {"app.kubernetes.io/instance": MODEL, "app.kubernetes.io/component": "engine"})


def sleeps(kubectl: Kubectl) -> bool:
    return replicas(kubectl) == 0 and not all_engines(kubectl)


def writers_of_spec(kubectl: Kubectl) -> set[str]:
    """Who owns a field of the model's spec."""
    found = kubectl.run("get", "embeddingmodel", MODEL, "-o", "json", "--show-managed-fields")
    return {each["manager"] for each in json.loads(found)["metadata"]["managedFields"] if "f:spec" in each["fieldsV1"]}


def test_engines_follow_the_work_from_zero_and_back(
    kubectl: Kubectl, operator: OperatorProcess, client: Client
) -> None:
    wait_settled(kubectl, MODEL)
    served = answers_of(client, kubectl, MODEL)
    wait_for(kubectl, MODEL, "Autoscaled", "True", "FollowsDemand")

    until(lambda: sleeps(kubectl), "nobody asks, and the last engine goes", 90)
    wait_for(kubectl, MODEL, "Ready", "True", "Asleep")
    wait_for(kubectl, MODEL, "Autoscaled", "True", "FollowsDemand")
    still = writes(operator)
    throughout(lambda: writes(operator) == still, "nothing is written while it sleeps", 8)
    gateways = pods(kubectl, "gateway")
    assert all(map(is_ready, gateways.values()))

    with load(client, served, clients=1, pause_s=1.0):
        until(lambda: ready_engines(kubectl) == 1, "the cluster knows of the engine that has answered", 30)
        with load(client, served, clients=6):
            until(lambda: ready_engines(kubectl) == 2, "the work brings a second engine", 90)
        until(lambda: replicas(kubectl) == 1, "the work is over, and one engine does", 90)
        until(lambda: len(all_engines(kubectl)) == 1, "the other one has drained", 60)
    until(lambda: sleeps(kubectl), "nobody asks, and the last engine goes", 90)
    wait_for(kubectl, MODEL, "Ready", "True", "Asleep")
    assert condition(kubectl, MODEL, "Degraded")[0] == "False"
    assert "trellis-operator" not in writers_of_spec(kubectl)
