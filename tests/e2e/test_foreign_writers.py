"""Condition 10: others write to our objects too - a bounded number of answers, and none at rest.
Condition 9: who scales is not fought.

One model serves all tests of this file; each begins when it is at rest.
"""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from e2ekit.audit import operator_writes
from e2ekit.cluster import Cluster
from e2ekit.counts import visits, writes
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl
from e2ekit.models import children, manifest, templates, wait_for, wait_settled
from e2ekit.namespaces import make_namespace, remove_namespace
from e2ekit.operator import OperatorProcess
from e2ekit.waiting import throughout, until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def kubectl(cluster: Cluster, crd: None) -> Iterator[Kubectl]:
    """One namespace for all tests of this file."""
    kubectl = make_namespace(cluster, "writers")
    yield kubectl
    remove_namespace(kubectl)


@pytest.fixture(scope="module")
def operator(
    cluster: Cluster, images: Images, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    """An operator that looks at its models often."""
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    process = OperatorProcess(cluster, images, kubectl.namespace, log, flags=("--resync-seconds", "5"))
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="module")
def model(kubectl: Kubectl, operator: OperatorProcess) -> Kubectl:
    kubectl.apply(manifest())
    wait_settled(kubectl, "m")
    return kubectl


@pytest.fixture
def settled(model: Kubectl, operator: OperatorProcess) -> Kubectl:
    """A model that serves, and a visit since then that found nothing to do."""
    wait_settled(model, "m")
    before = visits(operator).get("converged", 0)
    until(lambda: visits(operator).get("converged", 0) > before, "a visit found nothing to do")
    return model


def assert_still(operator: OperatorProcess, seconds: float = 12) -> None:
    before = writes(operator)
    throughout(lambda: writes(operator) == before, "nothing is written", seconds)


TARGETS = ("embeddingmodel/m", "deployment/m-engine", "service/m", "pdb/m-gateway", "networkpolicy/m-engine")


def test_annotations_and_labels_of_other_tools_are_no_reason_to_write(
    settled: Kubectl, operator: OperatorProcess
) -> None:
    before, visited = writes(operator), visits(operator)["converged"]
    for target in TARGETS:
        settled.run("annotate", target, "argocd.argoproj.io/tracking-id=app:trellis.dev/EmbeddingModel:m")
        settled.run("label", target, "example.com/team=search")
    throughout(lambda: writes(operator) == before, "nothing is written", 10)
    assert visits(operator)["converged"] > visited
    for target in TARGETS:
        kept = settled.get(*target.split("/"))["metadata"]
        assert kept["annotations"]["argocd.argoproj.io/tracking-id"]
        assert kept["labels"]["example.com/team"] == "search"


def test_a_restart_by_hand_rolls_once_and_is_left_alone(settled: Kubectl, operator: OperatorProcess) -> None:
    settled.run("rollout", "restart", "deployment/m-gateway")
    settled.run("rollout", "status", "deployment/m-gateway", "--timeout=90s")
    wait_settled(settled, "m")
    assert_still(operator)
    assert "kubectl.kubernetes.io/restartedAt" in templates(settled, "m")["m-gateway"]


ELSEWHERE = {"app.kubernetes.io/instance": "x"}
MORE = {"example.com/more": "x"}
ACCOUNT = {"kind": "ServiceAccount", "name": "default"}
CONTAINER = "/spec/template/spec/containers/0"
EDITS: dict[tuple[str, str], Any] = {
    ("deployments", "m-gateway"): [
        {"op": "replace", "path": "/spec/replicas", "value": 3},
        {"op": "replace", "path": f"{CONTAINER}/env/0/value", "value": "/elsewhere"},
        {"op": "add", "path": f"{CONTAINER}/command/-", "value": "--log-level=debug"},
        {"op": "remove", "path": f"{CONTAINER}/volumeMounts/0"},
        {"op": "remove", "path": f"{CONTAINER}/readinessProbe"},
        {"op": "replace", "path": "/metadata/labels/app.kubernetes.io~1component", "value": "other"},
    ],
    ("services", "m"): {"spec": {"selector": ELSEWHERE}},
    ("services", "m-engines"): {"spec": {"selector": MORE}},
    ("roles", "m-gateway"): {"rules": []},
    ("rolebindings", "m-gateway"): [{"op": "add", "path": "/subjects/-", "value": ACCOUNT | {"namespace": "default"}}],
    ("networkpolicies", "m-engine"): [{"op": "add", "path": "/spec/ingress/0/from/0/namespaceSelector", "value": {}}],
    ("poddisruptionbudgets", "m-gateway"): {"spec": {"selector": {"matchLabels": MORE}}},
    ("serviceaccounts", "m-engine"): {"automountServiceAccountToken": None},
}
"""One of each way to spoil an object: a field changed, added, or taken away; JSON patches are lists."""


def asked(found: dict[str, Any]) -> dict[str, Any]:
    """What of an object somebody asked for."""
    apart = {key: value for key, value in found.items() if key not in ("metadata", "status")}
    return apart | {key: found["metadata"].get(key) for key in ("labels", "ownerReferences")}


NOTICES = {"embeddingmodels/status", "events", "leases"}
"""What the operator writes beside children."""


def test_whatever_of_ours_someone_edits_is_put_back_by_one_write_each(
    settled: Kubectl, operator: OperatorProcess
) -> None:
    wanted = {each: asked(settled.get(*each)) for each in EDITS}
    before = len(operator_writes(settled)) if settled.cluster.own else 0
    for (kind, name), change in EDITS.items():
        how = "json" if isinstance(change, list) else "merge"
        settled.run("patch", kind, name, f"--type={how}", "--patch", json.dumps(change))

    def differing() -> list[tuple[str, str]]:
        return [each for each in EDITS if asked(settled.get(*each)) != wanted[each]]

    until(lambda: not differing(), "all is as we want it")
    wait_settled(settled, "m")
    assert_still(operator)
    assert not differing()
    if settled.cluster.own:
        since = operator_writes(settled)[before:]
        counted = Counter((each.resource, each.name) for each in since if each.resource not in NOTICES)
        assert counted == dict.fromkeys(EDITS, 1)


def test_a_child_that_someone_deletes_comes_back(settled: Kubectl, operator: OperatorProcess) -> None:
    settled.run("delete", "service", "m-engines")
    until(lambda: settled.find("service", "m-engines"), "it is there again")
    wait_settled(settled, "m")
    assert_still(operator)


def test_whoever_scales_the_model_scales_the_engines(settled: Kubectl, operator: OperatorProcess) -> None:
    settled.run("scale", "embeddingmodel", "m", "--replicas=2")
    wait_settled(settled, "m")
    status = settled.get("embeddingmodel", "m")["status"]
    assert status["engine"]["replicas"] == status["engine"]["readyReplicas"] == 2
    selector = status["engine"]["selector"]
    assert len(json.loads(settled.run("get", "pods", "-l", selector, "-o", "json"))["items"]) == 2
    scale = json.loads(settled.run("get", "embeddingmodel", "m", "--subresource=scale", "-o", "json"))
    assert scale["status"] == {"replicas": 2, "selector": selector}
    throughout(lambda: settled.get("deployment", "m-engine")["spec"]["replicas"] == 2, "it stays so", 10)
    assert_still(operator, 6)


def test_an_autoscaler_without_metrics_holds_and_replicas_are_not_reset(
    settled: Kubectl, operator: OperatorProcess
) -> None:
    engine = {"autoscaling": {"minReplicas": 1, "maxReplicas": 3}, "replicas": 2}
    settled.patch("embeddingmodel", "m", {"spec": {"engine": engine}})
    until(lambda: settled.find("hpa", "m-engine"), "there is an autoscaler")
    wait_settled(settled, "m")
    target = settled.get("hpa", "m-engine")["spec"]["scaleTargetRef"]
    assert target["kind"] == "EmbeddingModel"

    def told() -> bool:
        found = settled.get("hpa", "m-engine").get("status", {}).get("conditions", [])
        return any(each["type"] == "ScalingActive" and each["status"] == "False" for each in found)

    until(told, "the autoscaler sees the model, and has no metrics", 60)
    throughout(lambda: settled.get("embeddingmodel", "m")["spec"]["engine"]["replicas"] == 2, "it holds", 10)
    assert settled.get("deployment", "m-engine")["spec"]["replicas"] == 2
    settled.run("scale", "embeddingmodel", "m", "--replicas=1")
    until(lambda: settled.get("deployment", "m-engine")["spec"]["replicas"] == 1, "the engines follow")
    wait_for(settled, "m", "Ready", "True")
    assert children(settled, "m", "horizontalpodautoscalers")
    if settled.cluster.own:
        assert "monitoring.coreos.com" not in settled.run("api-versions"), "it is meant to serve without Prometheus"


AT_ONCE = 3
FIRST_PAUSE_S = 5.0
SLACK_S = 1.0
"""Between the decision to write and its arrival at the API server."""


def budget_writes(kubectl: Kubectl) -> list[float]:
    """When the operator wrote the budget of engines."""
    resource = "poddisruptionbudgets"
    return [each.at for each in operator_writes(kubectl) if (each.resource, each.name) == (resource, "m-engine")]


def test_a_fight_over_a_field_is_told_and_each_answer_waits_twice_as_long_as_the_one_before(
    settled: Kubectl, operator: OperatorProcess
) -> None:
    if not settled.cluster.own:
        pytest.skip("when the operator wrote is read from the log of an API server of our own")
    before = len(budget_writes(settled))
    for _ in range(AT_ONCE + 2):
        settled.patch("pdb", "m-engine", {"spec": {"maxUnavailable": 7}})
        until(lambda: settled.get("pdb", "m-engine")["spec"]["maxUnavailable"] == 1, "it is put back", 60)
    answers = budget_writes(settled)[before:]
    assert len(answers) == AT_ONCE + 2
    pauses = [later - earlier for earlier, later in pairwise(answers)][AT_ONCE - 1 :]
    assert all(pause > FIRST_PAUSE_S * 2**place - SLACK_S for place, pause in enumerate(pauses)), pauses
    said = wait_for(settled, "m", "Degraded", "True", "ForeignWriter", 10)
    assert "changed by kubectl-patch again and again" in said
    assert_still(operator)
    assert len(budget_writes(settled)) - before == AT_ONCE + 2
