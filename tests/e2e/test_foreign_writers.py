"""Condition 10: others write to our objects too - a bounded number of answers, and none at rest.
Condition 9: who scales is not fought."""

import json

import pytest
from e2ekit.counts import calls, visits, writes
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl
from e2ekit.models import children, condition, manifest, templates, wait_for, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.pods import container
from e2ekit.waiting import throughout, until
from e2ekit.webhook import Rewrite, webhook

pytestmark = pytest.mark.cluster


@pytest.fixture
def settled(kubectl: Kubectl, operator: OperatorProcess) -> Kubectl:
    """A model that serves, and an operator that looks at it often."""
    operator.stop()
    operator.flags = ("--resync-seconds", "5")
    operator.start()
    kubectl.apply(manifest())
    wait_settled(kubectl, "m")
    until(lambda: visits(operator).get("converged", 0), "a visit found nothing to do")
    return kubectl


def assert_still(operator: OperatorProcess, seconds: float = 12) -> None:
    before = writes(operator)
    throughout(lambda: writes(operator) == before, "nothing is written", seconds)


@pytest.mark.parametrize("target", ["embeddingmodel/m", "deployment/m-engine", "service/m", "pdb/m-gateway"])
def test_an_annotation_of_another_tool_is_no_reason_to_write(
    settled: Kubectl, operator: OperatorProcess, target: str
) -> None:
    before = writes(operator)
    settled.run("annotate", target, "argocd.argoproj.io/tracking-id=app:trellis.dev/EmbeddingModel:m")
    settled.run("label", target, "example.com/team=search")
    throughout(lambda: writes(operator) == before, "nothing is written", 10)
    kept = settled.get(*target.split("/"))["metadata"]
    assert kept["annotations"]["argocd.argoproj.io/tracking-id"]
    assert kept["labels"]["example.com/team"] == "search"


def test_a_restart_by_hand_rolls_once_and_is_left_alone(settled: Kubectl, operator: OperatorProcess) -> None:
    settled.run("rollout", "restart", "deployment/m-gateway")
    settled.run("rollout", "status", "deployment/m-gateway", "--timeout=90s")
    wait_settled(settled, "m")
    assert_still(operator)
    assert "kubectl.kubernetes.io/restartedAt" in templates(settled, "m")["m-gateway"]


@pytest.mark.parametrize(
    ("kind", "name", "change", "path"),
    [
        ("deployment", "m-gateway", {"spec": {"replicas": 3}}, "{.spec.replicas}"),
        ("service", "m", {"spec": {"selector": {"app.kubernetes.io/instance": "x"}}}, "{.spec.selector}"),
        ("role", "m-gateway", {"rules": []}, "{.rules}"),
        ("networkpolicy", "m-engine", {"spec": {"ingress": [{}]}}, "{.spec.ingress}"),
    ],
)
def test_a_field_of_ours_that_someone_edits_is_put_back_once(
    settled: Kubectl, operator: OperatorProcess, kind: str, name: str, change: dict[str, object], path: str
) -> None:
    wanted = settled.run("get", kind, name, "-o", f"jsonpath={path}")
    settled.patch(kind, name, change)
    until(lambda: settled.run("get", kind, name, "-o", f"jsonpath={path}") == wanted, "it is as we want it")
    wait_settled(settled, "m")
    assert_still(operator)


def test_a_child_that_someone_deletes_comes_back(settled: Kubectl, operator: OperatorProcess) -> None:
    settled.run("delete", "service", "m-engines")
    until(lambda: settled.find("service", "m-engines"), "it is there again")
    wait_settled(settled, "m")
    assert_still(operator)


def test_a_fight_over_a_field_is_told_and_costs_ever_fewer_writes(settled: Kubectl, operator: OperatorProcess) -> None:
    before = writes(operator)

    def edited() -> bool:
        if settled.get("pdb", "m-engine")["spec"]["maxUnavailable"] != 7:
            settled.patch("pdb", "m-engine", {"spec": {"maxUnavailable": 7}})
        return condition(settled, "m", "Degraded")[1] == "ForeignWriter"

    until(edited, "the fight is told", 60)
    assert "changed by kubectl-patch again and again" in condition(settled, "m", "Degraded")[2]
    assert writes(operator) - before < 30


def test_what_a_webhook_rewrites_and_what_it_injects_is_told_with_what_to_do(
    kubectl: Kubectl, operator: OperatorProcess, images: Images
) -> None:
    two = {"op": "replace", "path": "/spec/maxUnavailable", "value": 2}
    mesh = {"op": "add", "path": "/spec/containers/-", "value": container("mesh", "example.invalid/mesh:1")}
    gateways = {"app.kubernetes.io/component": "gateway"}
    rewrites = [Rewrite("poddisruptionbudgets", two, ("CREATE", "UPDATE")), Rewrite("pods", mesh, ("CREATE",))]
    with webhook(kubectl, images.gateway, gateways, rewrites):
        kubectl.apply(manifest())
        message = wait_for(kubectl, "m", "Degraded", "True", "Rewritten")
        assert "PodDisruptionBudget m-gateway was taken, but spec.maxUnavailable" in message
        assert "What to do: see kubectl get mutatingwebhookconfigurations" in message
        message = wait_for(kubectl, "m", "GatewayAvailable", "False", "ImagePull")
        assert "No template of Trellis has a container mesh" in message
        assert "What to do: ask who runs that webhook" in message
        assert calls(operator)["PATCH", "poddisruptionbudgets"] == 2, "each was applied once"
    kubectl.run("delete", "pods", "-l", "app.kubernetes.io/component=gateway", "--wait=false")
    kubectl.patch("embeddingmodel", "m", {"spec": {"disruption": {"maxUnavailable": 2}}})
    wait_settled(kubectl, "m")
    wait_for(kubectl, "m", "Degraded", "False", "AsAskedFor")


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
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    scaling = {"minReplicas": 1, "maxReplicas": 3}
    kubectl.apply(manifest(engine={"autoscaling": scaling, "replicas": 2}))
    wait_settled(kubectl, "m")
    target = kubectl.get("hpa", "m-engine")["spec"]["scaleTargetRef"]
    assert target["kind"] == "EmbeddingModel"

    def told() -> bool:
        found = kubectl.get("hpa", "m-engine").get("status", {}).get("conditions", [])
        return any(each["type"] == "ScalingActive" and each["status"] == "False" for each in found)

    until(told, "the autoscaler sees the model, and has no metrics", 60)
    throughout(lambda: kubectl.get("embeddingmodel", "m")["spec"]["engine"]["replicas"] == 2, "it holds", 10)
    assert kubectl.get("deployment", "m-engine")["spec"]["replicas"] == 2
    kubectl.run("scale", "embeddingmodel", "m", "--replicas=1")
    until(lambda: kubectl.get("deployment", "m-engine")["spec"]["replicas"] == 1, "the engines follow")
    wait_for(kubectl, "m", "Ready", "True")
    assert children(kubectl, "m", "horizontalpodautoscalers")
