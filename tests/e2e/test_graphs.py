"""Condition 6, as far as CPUs go: an engine is not ready before it is warm, and is not killed for it.

And graphs, from the manifest to the engine and back to the status, on engines that do them on a CPU.
"""

from collections.abc import Iterator

import pytest
from e2ekit.client import Client
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.models import CPU_GRAPHS, announce_accelerators, manifest, wait_for, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.steady import is_ready, pods
from e2ekit.waiting import until

pytestmark = pytest.mark.cluster

PREWARM = [{"tokens": 64, "sequences": 2}, {"tokens": 128, "sequences": 8}, {"tokens": 2048, "sequences": 8}]
"""The last one takes longer than the looks of a test and of a probe."""
WARM = "ready on "
"""What an engine writes into its log when it has loaded and captured everything."""


@pytest.fixture
def accelerators(kubectl: Kubectl) -> Iterator[Kubectl]:
    announce_accelerators(kubectl, 1, CPU_GRAPHS)
    yield kubectl
    announce_accelerators(kubectl, 0, CPU_GRAPHS)


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


def test_graphs_that_a_manifest_names_are_captured_before_its_engine_is_ready_and_the_status_counts_them(
    accelerators: Kubectl, operator: OperatorProcess, client: Client
) -> None:
    kubectl = accelerators
    kubectl.apply(manifest(engine={"accelerator": {"resourceName": CPU_GRAPHS}, "cudaGraphs": {"prewarm": PREWARM}}))

    def ready_at_first() -> list[str]:
        found = conditions(kubectl)
        assert found.get("Ready") != "True" or found["EngineAvailable"] == found["GatewayAvailable"] == "True"
        return called(kubectl)

    [engine] = until(ready_at_first, "an engine is ready", 120)
    # Read after it was seen to be ready: an engine that was so too early has not written this yet.
    assert WARM in kubectl.run("logs", engine), "it was ready before it was warm"
    wait_settled(kubectl, "m")
    found = kubectl.all("pods", {"app.kubernetes.io/instance": "m"})
    assert [each["restartCount"] for pod in found for each in pod["status"]["containerStatuses"]] == [0, 0]
    assert wait_for(kubectl, "m", "GraphsWarmed", "True", "Warmed") == "each engine has captured 3 of 3 keys"
    header, row = kubectl.run("get", "em", "m").splitlines()
    at = header.index("WARMED")
    assert row[at:].split()[0] == "3"
    assert len(client.embed(f"http://m.{kubectl.namespace}.svc", "m", ["hello"]).encoded) == 1


def test_an_engine_that_cannot_capture_what_the_manifest_names_says_so_in_the_status(
    accelerators: Kubectl, operator: OperatorProcess
) -> None:
    kubectl = accelerators
    never = {"prewarm": [{"tokens": 4096, "sequences": 2}]}
    kubectl.apply(manifest(engine={"accelerator": {"resourceName": CPU_GRAPHS}, "cudaGraphs": never}))
    assert "2 sequences never have 4096 tokens" in wait_for(kubectl, "m", "GraphsWarmed", "False", "Error")
