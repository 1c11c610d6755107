"""Condition 8: however a model is deleted, nothing is stuck, nothing is left, and nothing comes back.

The model has every optional field, so that it becomes every kind of object; what is left is looked for among all kinds
that the API server knows.
"""

from collections.abc import Iterator

import pytest
from e2ekit.cluster import Cluster
from e2ekit.full import KEY, cluster_for_full, full, secret
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.models import all_kinds, children, manifest, wait_for, wait_settled
from e2ekit.namespaces import make_namespace
from e2ekit.operator import OperatorProcess
from e2ekit.volumes import volume
from e2ekit.waiting import throughout, until

pytestmark = pytest.mark.cluster

OPTIONAL = {"PodMonitor", "HTTPRoute", "ScaledObject", "Job", "PersistentVolumeClaim"}
NOT_OURS = {"kubernetes.io/pvc-protection", "finalizer.keda.sh"}


@pytest.fixture(scope="module", autouse=True)
def kinds(cluster: Cluster, crd: None) -> Iterator[str]:
    """Every kind that the API server knows."""
    kubectl = Kubectl(cluster, "default")
    with cluster_for_full(kubectl):
        yield all_kinds(kubectl)


@pytest.fixture
def model(kubectl: Kubectl) -> Iterator[Manifest]:
    """The model with every optional field, and all that it names; there is a volume for two that follow each other."""
    kubectl.apply(secret("keys", team=KEY))
    with volume(kubectl, claims=2) as disk:
        yield full(kubectl, disk)


def make(kubectl: Kubectl, model: Manifest, kinds: str) -> None:
    """Apply it, and wait until it serves and has become all that it can."""
    kubectl.apply(model)
    wait_settled(kubectl, "m")
    assert {each["kind"] for each in children(kubectl, "m", kinds)} >= OPTIONAL


def assert_gone(kubectl: Kubectl, kinds: str) -> None:
    until(lambda: kubectl.find("embeddingmodel", "m") is None, "the model is gone", 30)
    until(lambda: not left(kubectl, kinds), "all of it is gone", 90)
    throughout(lambda: not left(kubectl, kinds), "nothing comes back", 8)


def left(kubectl: Kubectl, kinds: str) -> list[str]:
    return [f"{each['kind']} {each['metadata']['name']}" for each in children(kubectl, "m", kinds)]


def test_a_model_that_serves_is_deleted_in_the_foreground_with_all_of_it_since_no_object_has_a_finalizer_of_ours(
    kubectl: Kubectl, operator: OperatorProcess, model: Manifest, kinds: str
) -> None:
    make(kubectl, model, kinds)
    ours = [kubectl.get("embeddingmodel", "m"), *children(kubectl, "m", kinds.replace("pods,", ""))]
    assert not {name for each in ours for name in each["metadata"].get("finalizers", [])} - NOT_OURS
    kubectl.delete("embeddingmodel", "m", "--cascade=foreground")
    assert_gone(kubectl, kinds)


def test_a_model_is_deleted_while_it_is_being_made(
    kubectl: Kubectl, operator: OperatorProcess, model: Manifest, kinds: str
) -> None:
    kubectl.apply(model)
    until(lambda: kubectl.find("serviceaccount", "m-engine"), "it is begun")
    kubectl.delete("embeddingmodel", "m")
    assert_gone(kubectl, kinds)


def test_a_model_is_deleted_while_the_operator_is_down_and_stays_so_when_it_comes_back(
    kubectl: Kubectl, operator: OperatorProcess, model: Manifest, kinds: str
) -> None:
    make(kubectl, model, kinds)
    operator.kill()
    kubectl.delete("embeddingmodel", "m")
    until(lambda: not left(kubectl, kinds), "all of it is gone", 90)
    operator.start()
    until(lambda: "following EmbeddingModels" in operator.tail(), "the operator works again")
    assert_gone(kubectl, kinds)


def test_a_model_that_serves_is_deleted_in_the_background_and_one_of_its_name_that_follows_at_once_is_made_anew(
    kubectl: Kubectl, operator: OperatorProcess, model: Manifest, kinds: str
) -> None:
    make(kubectl, model, kinds)
    before = kubectl.get("deployment", "m-engine")["metadata"]["uid"]
    kubectl.delete("embeddingmodel", "m", "--cascade=background")
    until(lambda: kubectl.find("embeddingmodel", "m") is None, "the old one is gone")
    kubectl.apply(model)
    wait_settled(kubectl, "m", timeout_s=180)
    assert kubectl.get("deployment", "m-engine")["metadata"]["uid"] != before
    kubectl.delete("embeddingmodel", "m", "--cascade=background")
    assert_gone(kubectl, kinds)


def test_a_namespace_is_deleted_with_its_models(
    kubectl: Kubectl, operator: OperatorProcess, model: Manifest, kinds: str
) -> None:
    make(kubectl, model, kinds)
    kubectl.run("delete", "namespace", kubectl.namespace, "--wait=false")
    until(lambda: kubectl.find("namespace", kubectl.namespace) is None, "the namespace is gone", 120)


def test_a_model_that_waits_for_a_volume_of_a_missing_class_says_so_and_is_deleted(
    kubectl: Kubectl, operator: OperatorProcess, model: Manifest, kinds: str
) -> None:
    model["spec"]["cache"]["persistentVolumeClaim"]["storageClassName"] = "no-such-class"
    kubectl.apply(model)
    message = wait_for(kubectl, "m", "SourceReady", "False", "VolumePending")
    assert "StorageClass no-such-class" in message
    assert not kubectl.find("deployment", "m-engine")
    kubectl.delete("embeddingmodel", "m", "--cascade=foreground")
    assert_gone(kubectl, kinds)


def test_models_of_other_namespaces_are_not_touched(kubectl: Kubectl, operator: OperatorProcess) -> None:
    other = make_namespace(kubectl.cluster, "other")
    other.apply(manifest())
    kubectl.apply(manifest())
    wait_for(kubectl, "m", "Accepted", "True")
    assert not children(other, "m")
    other.run("delete", "namespace", other.namespace, "--wait=false")
