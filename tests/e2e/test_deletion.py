"""Condition 8: however a model is deleted, nothing is stuck, nothing is left, and nothing comes back."""

import pytest
from e2ekit.kubectl import Kubectl
from e2ekit.models import KINDS, children, manifest, wait_for, wait_settled
from e2ekit.namespaces import make_namespace
from e2ekit.operator import OperatorProcess
from e2ekit.waiting import throughout, until

pytestmark = pytest.mark.cluster


def assert_gone(kubectl: Kubectl) -> None:
    until(lambda: kubectl.find("embeddingmodel", "m") is None, "the model is gone", 30)
    until(lambda: not children(kubectl, "m"), "all of it is gone", 90)
    throughout(lambda: not children(kubectl, "m"), "nothing comes back", 8)


def test_no_object_has_a_finalizer_of_ours(kubectl: Kubectl, operator: OperatorProcess) -> None:
    kubectl.apply(manifest())
    wait_settled(kubectl, "m")
    ours = [kubectl.get("embeddingmodel", "m"), *children(kubectl, "m", KINDS.replace("pods,", ""))]
    assert not [each["metadata"]["finalizers"] for each in ours if "finalizers" in each["metadata"]]


@pytest.mark.parametrize("how", ["background", "foreground"])
def test_a_model_that_serves_is_deleted_with_all_of_it(kubectl: Kubectl, operator: OperatorProcess, how: str) -> None:
    kubectl.apply(manifest())
    wait_settled(kubectl, "m")
    kubectl.delete("embeddingmodel", "m", f"--cascade={how}")
    assert_gone(kubectl)


def test_a_model_is_deleted_while_it_is_being_made(kubectl: Kubectl, operator: OperatorProcess) -> None:
    kubectl.apply(manifest())
    until(lambda: kubectl.find("serviceaccount", "m-engine"), "it is begun")
    kubectl.delete("embeddingmodel", "m")
    assert_gone(kubectl)


def test_a_model_is_deleted_while_the_operator_is_down_and_stays_so_when_it_comes_back(
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    kubectl.apply(manifest())
    wait_settled(kubectl, "m")
    operator.kill()
    kubectl.delete("embeddingmodel", "m")
    until(lambda: not children(kubectl, "m"), "all of it is gone", 90)
    operator.start()
    until(lambda: "following EmbeddingModels" in operator.tail(), "the operator works again")
    assert_gone(kubectl)


def test_a_model_of_the_same_name_that_follows_at_once_is_made_anew(
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    kubectl.apply(manifest())
    wait_settled(kubectl, "m")
    before = kubectl.get("deployment", "m-engine")["metadata"]["uid"]
    kubectl.delete("embeddingmodel", "m")
    until(lambda: kubectl.find("embeddingmodel", "m") is None, "the old one is gone")
    kubectl.apply(manifest())
    wait_settled(kubectl, "m", timeout_s=180)
    assert kubectl.get("deployment", "m-engine")["metadata"]["uid"] != before


def test_a_namespace_is_deleted_with_its_models(kubectl: Kubectl, operator: OperatorProcess) -> None:
    kubectl.apply(manifest())
    wait_settled(kubectl, "m")
    kubectl.run("delete", "namespace", kubectl.namespace, "--wait=false")
    until(lambda: kubectl.find("namespace", kubectl.namespace) is None, "the namespace is gone", 120)


def test_a_model_that_waits_for_a_volume_of_a_missing_class_says_so_and_is_deleted(
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    claim = {"size": "1Gi", "storageClassName": "no-such-class"}
    kubectl.apply(manifest(cache={"persistentVolumeClaim": claim}))
    message = wait_for(kubectl, "m", "SourceReady", "False", "VolumePending")
    assert "StorageClass no-such-class" in message
    assert not kubectl.find("deployment", "m-engine")
    kubectl.delete("embeddingmodel", "m", "--cascade=foreground")
    assert_gone(kubectl)


def test_models_of_other_namespaces_are_not_touched(kubectl: Kubectl, operator: OperatorProcess) -> None:
    other = make_namespace(kubectl.cluster, "other")
    other.apply(manifest())
    kubectl.apply(manifest())
    wait_for(kubectl, "m", "Accepted", "True")
    assert not children(other, "m")
    other.run("delete", "namespace", other.namespace, "--wait=false")
