"""What goes wrong in pods, and what a cluster refuses: trouble is told with its reason, and what serves goes on."""

from collections.abc import Iterator

import pytest
from e2ekit.admission import refusing
from e2ekit.cluster import Cluster
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl, RefusedError
from e2ekit.models import condition, manifest, wait_for, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.shared import Shared, sharing
from e2ekit.waiting import throughout, until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def shared(cluster: Cluster, images: Images, crd: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """A model that is there and one that is not, begun side by side: what they end in takes both a while."""
    absent = manifest("absent")
    absent["spec"]["model"]["source"]["package"]["version"] = "999.0"
    with sharing(cluster, images, "trouble", tmp_path_factory.mktemp("operator")) as begun:
        begun.kubectl.apply(manifest(engine={"rollout": {"progressDeadlineSeconds": 40}}), absent)
        yield begun


def test_an_engine_that_cannot_start_is_told_and_the_old_one_serves_on(shared: Shared) -> None:
    kubectl = shared.kubectl
    wait_settled(kubectl, "m")
    kubectl.patch("embeddingmodel", "m", {"spec": {"engine": {"attentionBackend": "flashinferFa3"}}})
    message = wait_for(kubectl, "m", "Degraded", "True")
    assert "attention" in message, message
    assert condition(kubectl, "m", "Ready")[0] == "True"
    wait_for(kubectl, "m", "Progressing", "False", "DeadlineExceeded", timeout_s=120)
    assert kubectl.get("deployment", "m-engine")["status"]["readyReplicas"] == 1
    kubectl.patch("embeddingmodel", "m", {"spec": {"engine": {"attentionBackend": "torch"}}})
    wait_settled(kubectl, "m")
    assert condition(kubectl, "m", "Degraded")[0] == "False"


def test_a_model_that_does_not_exist_is_told_by_its_source(shared: Shared) -> None:
    kubectl = shared.kubectl
    # Pods that reach a package index are told that it has no such version.
    reasons = ("NotFound", "Unreachable")
    until(lambda: condition(kubectl, "absent", "SourceReady")[1] in reasons, "the source says why", 90)
    assert "999.0" in condition(kubectl, "absent", "SourceReady")[2]
    until(lambda: condition(kubectl, "absent", "Ready")[1] in reasons, "and so does Ready")


def test_a_status_that_the_cluster_refuses_is_told_by_an_event(shared: Shared) -> None:
    kubectl = shared.kubectl
    wait_settled(kubectl, "m")
    rule = {
        "apiGroups": ["trellis.dev"],
        "apiVersions": ["*"],
        "operations": ["UPDATE"],
        "resources": ["embeddingmodels/status"],
    }
    with refusing(kubectl, "statuses", rule, "false", "statuses are not wanted here"):
        until(lambda: "not wanted here" in _said_to_a_status(kubectl), "the policy is in force")
        kubectl.patch("embeddingmodel", "m", {"spec": {"disruption": {"maxUnavailable": 2}}})
        told = until(lambda: _events(kubectl, "m", "StatusRefused"), "an event tells of it")
    assert "the status is old, or absent" in told
    assert "statuses are not wanted here" in told
    assert "What to do: install the CRD and the roles of the operator's version" in told


def _said_to_a_status(kubectl: Kubectl) -> str:
    """What the API server says against a status; nothing is stored."""
    try:
        kubectl.patch("embeddingmodel", "m", {"status": {"url": "trial"}}, "--subresource=status", "--dry-run=server")
    except RefusedError as error:
        return str(error)
    return ""


def _events(kubectl: Kubectl, name: str, reason: str) -> str:
    """The messages of a model's events of this reason."""
    found = [each for each in kubectl.all("events") if each["involvedObject"]["name"] == name]
    return "\n".join(each["message"] for each in found if each["reason"] == reason)


def test_an_image_that_does_not_exist_is_told(kubectl: Kubectl, operator: OperatorProcess) -> None:
    operator.stop()
    operator.flags = ("--engine-image", "example.invalid/engine:1")
    operator.start()
    kubectl.apply(manifest())
    message = wait_for(kubectl, "m", "EngineAvailable", "False", "ImagePull")
    assert "example.invalid/engine:1" in message


@pytest.fixture
def no_engines(kubectl: Kubectl) -> Iterator[str]:
    """An admission policy of the cluster that refuses engines in the test's namespace; yields its name."""
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["deployments"],
    }
    others = "!object.metadata.name.endsWith('-engine')"
    with refusing(kubectl, "engines", rule, others, "engines are not wanted here") as name:
        yield name


def test_what_a_policy_of_the_cluster_refuses_is_told_with_its_words_and_goes_on_without_it(
    kubectl: Kubectl, operator: OperatorProcess, no_engines: str
) -> None:
    trial = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "trial-engine"}}
    labels = {"app": "trial"}
    pod = {"containers": [{"name": "x", "image": "x"}]}
    trial["spec"] = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    until(lambda: "not wanted here" in (kubectl.refusal(trial) or ""), "the policy is in force")
    kubectl.apply(manifest())
    message = wait_for(kubectl, "m", "Accepted", "False", "PolicyDenied")
    assert "engines are not wanted here" in message
    assert "What to do: an admission policy of this cluster refuses it" in message
    throughout(lambda: operator.alive, "the operator bears it", 3)
    kubectl.delete("validatingadmissionpolicybinding", no_engines)
    wait_settled(kubectl, "m")
    assert "Warning" in kubectl.run("describe", "em", "m")
