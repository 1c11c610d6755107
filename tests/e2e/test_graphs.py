"""Graphs, from the manifest to the engine and back to the status, on engines that do them on a CPU."""

from collections.abc import Iterator

import pytest
from e2ekit.client import Client
from e2ekit.kubectl import Kubectl
from e2ekit.models import CPU_GRAPHS, announce_accelerators, manifest, wait_for, wait_settled
from e2ekit.operator import OperatorProcess

pytestmark = pytest.mark.cluster

PREWARM = [{"tokens": 64, "sequences": 2}, {"tokens": 128, "sequences": 8}]


@pytest.fixture
def accelerators(kubectl: Kubectl) -> Iterator[Kubectl]:
    announce_accelerators(kubectl, 1, CPU_GRAPHS)
    yield kubectl
    announce_accelerators(kubectl, 0, CPU_GRAPHS)


def test_graphs_that_a_manifest_names_are_captured_before_its_engine_is_ready_and_the_status_counts_them(
    accelerators: Kubectl, operator: OperatorProcess, client: Client
) -> None:
    kubectl = accelerators
    kubectl.apply(manifest(engine={"accelerator": {"resourceName": CPU_GRAPHS}, "cudaGraphs": {"prewarm": PREWARM}}))
    wait_settled(kubectl, "m")
    assert wait_for(kubectl, "m", "GraphsWarmed", "True", "Warmed") == "each engine has captured 2 of 2 keys"
    header, row = kubectl.run("get", "em", "m").splitlines()
    at = header.index("WARMED")
    assert row[at:].split()[0] == "2"
    assert len(client.embed(f"http://m.{kubectl.namespace}.svc", "m", ["hello"]).encoded) == 1


def test_an_engine_that_cannot_capture_what_the_manifest_names_says_so_in_the_status(
    accelerators: Kubectl, operator: OperatorProcess
) -> None:
    kubectl = accelerators
    never = {"prewarm": [{"tokens": 4096, "sequences": 2}]}
    kubectl.apply(manifest(engine={"accelerator": {"resourceName": CPU_GRAPHS}, "cudaGraphs": never}))
    assert "2 sequences never have 4096 tokens" in wait_for(kubectl, "m", "GraphsWarmed", "False", "Error")
