"""Condition 6: an engine is not ready before it is warm, and is not killed for it.

A size that cannot be captured, or that has no room, is told of and served all the same.

Graphs are those of a CPU, from the manifest to the engine and back to the status. One model serves all tests of this
file but the last.
"""

from collections.abc import Iterator
from datetime import datetime

import pytest
from e2ekit.client import TOLERANCE, Client, numbers
from e2ekit.cluster import Cluster
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.models import CPU_GRAPHS, announce_accelerators, children, manifest, wait_for, wait_settled
from e2ekit.namespaces import make_namespace, remove_namespace
from e2ekit.operator import OperatorProcess
from e2ekit.short_engines import short_of_room
from e2ekit.steady import is_ready, pods
from e2ekit.waiting import until

pytestmark = pytest.mark.cluster

PREWARM = [{"tokens": 64, "sequences": 2}, {"tokens": 128, "sequences": 8}, {"tokens": 2048, "sequences": 8}]
"""The last one takes longer than any probe waits."""
QUICK = [*PREWARM[:2], {"tokens": 1024, "sequences": 8}]
NOT_CAPTURED = {"tokens": 192, "sequences": 2}
"""The device of these engines cannot, and has no room for a step of 256 tokens."""
TEXTS = [f"{'word ' * 48}{each}" for each in ("one", "two", "three", "four", "five")]
"""Of 51 tokens each: together a step of 256 rows and 8 slots."""
WARM = "ready on "
"""What an engine writes into its log when it has loaded and captured everything."""


@pytest.fixture(scope="module")
def kubectl(cluster: Cluster, crd: None) -> Iterator[Kubectl]:
    """One namespace for all tests of this file, on a cluster with an accelerator more than the model needs."""
    kubectl = make_namespace(cluster, "graphs")
    announce_accelerators(kubectl, 2, CPU_GRAPHS)
    yield kubectl
    announce_accelerators(kubectl, 0, CPU_GRAPHS)
    remove_namespace(kubectl)


@pytest.fixture(scope="module")
def operator(
    cluster: Cluster, images: Images, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    """An operator that looks at its models often, whose engines have the device that fails."""
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    flags = ("--resync-seconds", "5")
    process = OperatorProcess(cluster, short_of_room(cluster, images), kubectl.namespace, log, flags=flags)
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="module")
def client(kubectl: Kubectl, images: Images) -> Client:
    """One client for all tests of this file."""
    return Client(kubectl, images.gateway)


def graphs(prewarm: list[dict[str, int]]) -> Manifest:
    return {"accelerator": {"resourceName": CPU_GRAPHS}, "cudaGraphs": {"prewarm": prewarm}}


def endpoints(kubectl: Kubectl) -> list[Manifest]:
    """What gateways are told of the engines."""
    slices = kubectl.all("endpointslices", {"kubernetes.io/service-name": "m-engines"})
    return [each for found in slices for each in found.get("endpoints") or []]


def called(kubectl: Kubectl) -> list[str]:
    """Engines that the cluster counts as ready, or sends gateways to."""
    ready = {name for name, pod in pods(kubectl, "engine").items() if is_ready(pod)}
    told = {each["targetRef"]["name"] for each in endpoints(kubectl) if each["conditions"].get("ready")}
    return sorted(ready | told)


def conditions(kubectl: Kubectl) -> dict[str, str]:
    """All conditions of one look at the model."""
    status = kubectl.get("embeddingmodel", "m").get("status", {})
    return {each["type"]: each["status"] for each in status.get("conditions", [])}


def restarts(kubectl: Kubectl) -> list[int]:
    """How often each container of the model was started again."""
    return [
        each["restartCount"] for pod in children(kubectl, "m", "pods") for each in pod["status"]["containerStatuses"]
    ]


def warm_up_s(pod: Manifest) -> float:
    """Seconds from the start of its program until it was ready."""
    began = pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    ready = next(each["lastTransitionTime"] for each in pod["status"]["conditions"] if each["type"] == "Ready")
    return (datetime.fromisoformat(ready) - datetime.fromisoformat(began)).total_seconds()


def warmed(kubectl: Kubectl) -> str:
    """What `kubectl get` shows in that column."""
    header, row = kubectl.run("get", "em", "m").splitlines()
    return row[header.index("WARMED") :].split()[0]


def vectors(kubectl: Kubectl, client: Client, *texts: str) -> list[tuple[float, ...]]:
    """Of texts that are asked for together."""
    return [numbers(each) for each in client.embed(f"http://m.{kubectl.namespace}.svc", "m", texts).encoded]


def test_graphs_that_a_manifest_names_are_captured_before_its_engine_is_ready_and_the_status_counts_them(
    kubectl: Kubectl, operator: OperatorProcess, client: Client
) -> None:
    kubectl.apply(manifest(engine=graphs(PREWARM)))

    def ready_at_first() -> list[str]:
        found = conditions(kubectl)
        assert found.get("Ready") != "True" or found["EngineAvailable"] == found["GatewayAvailable"] == "True"
        return called(kubectl)

    [engine] = until(ready_at_first, "an engine is ready", 240)
    # Read after it was seen to be ready: an engine that was so too early has not written this yet.
    assert WARM in kubectl.run("logs", engine), "it was ready before it was warm"
    wait_settled(kubectl, "m")
    assert restarts(kubectl) == [0, 0]
    if kubectl.cluster.own:
        pod = kubectl.get("pod", engine)
        probe = pod["spec"]["containers"][0]["livenessProbe"]
        assert warm_up_s(pod) > probe["periodSeconds"] * probe["failureThreshold"], "no probe was put to the test"
    assert wait_for(kubectl, "m", "GraphsWarmed", "True", "Warmed") == "each engine has captured 3 of 3 keys"
    assert warmed(kubectl) == "3"
    assert len(vectors(kubectl, client, "hello")) == 1


def test_a_size_that_cannot_be_captured_and_one_without_room_are_told_of_and_served(
    kubectl: Kubectl, operator: OperatorProcess, client: Client
) -> None:
    if not kubectl.cluster.own:
        pytest.skip("engines get a device that fails only on a cluster of our own")
    alone = [vectors(kubectl, client, text)[0] for text in TEXTS]
    [before] = pods(kubectl, "engine")
    kubectl.patch("embeddingmodel", "m", {"spec": {"engine": graphs([*QUICK, NOT_CAPTURED])}})
    message = wait_for(kubectl, "m", "GraphsWarmed", "False", "CaptureFailed", 240)
    assert "could not capture 192x2: operation not permitted when stream is capturing" in message
    assert "What to do: take them out of engine.cudaGraphs.prewarm" in message
    wait_settled(kubectl, "m")
    until(lambda: before not in pods(kubectl, "engine"), "the engine before is gone")
    assert warmed(kubectl) == "3"

    for _ in range(2):
        for found, expected in zip(vectors(kubectl, client, *TEXTS), alone, strict=True):
            assert found == pytest.approx(expected, abs=TOLERANCE)
    message = wait_for(kubectl, "m", "GraphsWarmed", "False", "OutOfMemory", 60)
    assert "had no room for a step of 256x8: CUDA out of memory" in message
    assert "What to do: lower engine.batching.maxBatchTokens" in message
    wait_for(kubectl, "m", "Ready", "True", "Serving")
    assert restarts(kubectl) == [0, 0]


def test_an_engine_that_cannot_capture_what_the_manifest_names_says_so_in_the_status(
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    kubectl.apply(manifest("n", engine=graphs([{"tokens": 4096, "sequences": 2}])))
    assert "2 sequences never have 4096 tokens" in wait_for(kubectl, "n", "GraphsWarmed", "False", "Error")
