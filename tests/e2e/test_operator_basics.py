"""A manifest becomes a URL that answers, and then the operator is still."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from e2ekit.client import Client
from e2ekit.cluster import Cluster
from e2ekit.counts import calls, visits, writes
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl
from e2ekit.models import KINDS, children, condition, manifest, wait_for, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.shared import Shared, sharing
from e2ekit.waiting import throughout, until

pytestmark = pytest.mark.cluster

EXAMPLE = Path(__file__).parents[2] / "examples" / "minilm.yaml"


def test_the_example_becomes_a_url_that_answers(kubectl: Kubectl, operator: OperatorProcess, client: Client) -> None:
    kubectl.apply(yaml.safe_load(EXAMPLE.read_text()))
    wait_settled(kubectl, "all-minilm-l6-v2")
    status = kubectl.get("embeddingmodel", "all-minilm-l6-v2")["status"]
    assert status["url"] == f"http://all-minilm-l6-v2.{kubectl.namespace}.svc"
    assert status["modelDigest"].startswith("sha256:")
    answer = client.embed(status["url"], "all-minilm-l6-v2", ["hello"])
    assert len(answer.encoded) == 1
    printed = kubectl.run("get", "em")
    assert "Serving" in printed
    told = kubectl.run("describe", "em", "all-minilm-l6-v2")
    for word in ("Applied", "RollingOut", "Complete", "Serving"):
        assert word in told


@pytest.fixture(scope="module")
def shared(cluster: Cluster, images: Images, crd: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """One model for the tests of what becomes of one that is left alone, just applied, and looked at often."""
    folder = tmp_path_factory.mktemp("operator")
    with sharing(cluster, images, "basics", folder, "--resync-seconds", "5") as begun:
        begun.kubectl.apply(manifest())
        yield begun


def test_all_conditions_are_there_at_once(shared: Shared) -> None:
    kubectl = shared.kubectl
    status = until(lambda: kubectl.get("embeddingmodel", "m").get("status"), "there is a status")
    assert {each["type"] for each in status["conditions"]} == {
        *("Ready", "Accepted", "SourceReady", "EngineAvailable", "GraphsWarmed", "GatewayAvailable"),
        *("Autoscaled", "Progressing", "Degraded"),
    }
    assert status["observedGeneration"] == 1


def test_a_model_that_is_as_it_should_be_costs_no_write_and_no_read(shared: Shared) -> None:
    kubectl, operator = shared.kubectl, shared.operator
    wait_settled(kubectl, "m")
    until(lambda: visits(operator).get("converged", 0), "a visit found nothing to do")
    before, visited = calls(operator), visits(operator)["converged"]
    throughout(
        lambda: writes(operator) == sum(count for (how, _), count in before.items() if how != "GET"), "still", 60
    )
    assert visits(operator)["converged"] > visited + 5
    calls_now = calls(operator).items()
    gets = {kind: count - before.get((how, kind), 0) for (how, kind), count in calls_now if how == "GET"}
    assert not any(gets[kind] for kind in gets if kind not in ("", "podmonitors", "httproutes")), gets


def test_suspending_takes_the_pods_and_keeps_everything_else(shared: Shared) -> None:
    kubectl = shared.kubectl
    wait_settled(kubectl, "m")
    before = {(each["kind"], each["metadata"]["name"]) for each in children(kubectl, "m", KINDS.replace("pods,", ""))}
    kubectl.patch("embeddingmodel", "m", {"spec": {"suspend": True}})
    wait_for(kubectl, "m", "Ready", "False", "Suspended")
    until(lambda: not children(kubectl, "m", "pods"), "all pods are gone")
    after = {(each["kind"], each["metadata"]["name"]) for each in children(kubectl, "m", KINDS.replace("pods,", ""))}
    assert before == after
    kubectl.patch("embeddingmodel", "m", {"spec": {"suspend": False}})
    wait_settled(kubectl, "m")


def test_what_a_quota_refuses_is_told_and_goes_on_once_it_is_raised(
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    kubectl.apply(quota | {"spec": {"hard": {"count/deployments.apps": "1"}}})
    kubectl.apply(manifest())
    message = wait_for(kubectl, "m", "Accepted", "False", "QuotaExceeded")
    assert "raise the ResourceQuota" in message
    kubectl.apply(quota | {"spec": {"hard": {"count/deployments.apps": "2"}}})
    wait_for(kubectl, "m", "Accepted", "True")
    wait_settled(kubectl, "m")


def test_pods_that_a_quota_refuses_are_told(kubectl: Kubectl, operator: OperatorProcess) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
    kubectl.apply(quota)
    kubectl.apply(manifest())
    wait_for(kubectl, "m", "Degraded", "True", "QuotaExceeded")


def test_a_service_that_someone_else_has_is_left_alone(kubectl: Kubectl, operator: OperatorProcess) -> None:
    theirs = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "m"}, "spec": {"ports": [{"port": 5432}]}}
    kubectl.apply(theirs)
    kubectl.apply(manifest())
    wait_for(kubectl, "m", "Accepted", "False", "NameTaken")
    kept = kubectl.get("service", "m")
    assert kept["spec"]["ports"][0]["port"] == 5432
    assert "ownerReferences" not in kept["metadata"]
    kubectl.run("delete", "service", "m")
    wait_for(kubectl, "m", "Accepted", "True")
    wait_settled(kubectl, "m")
    assert condition(kubectl, "m", "Degraded")[0] == "False"
