"""Condition 10: a webhook of the cluster rewrites what we apply, and puts containers into our pods. Both are told.

So is what comes to nothing since the rewrite itself fails.
"""

import pytest
from e2ekit.counts import calls, writes
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl
from e2ekit.models import manifest, wait_for, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.pods import container
from e2ekit.steady import pods
from e2ekit.waiting import throughout
from e2ekit.webhook import Rewrite, webhook

pytestmark = pytest.mark.cluster


def test_what_a_webhook_rewrites_and_what_it_injects_is_told_with_what_to_do(
    kubectl: Kubectl, operator: OperatorProcess, images: Images
) -> None:
    two = {"op": "replace", "path": "/spec/maxUnavailable", "value": 2}
    mesh = {"op": "add", "path": "/spec/containers/-", "value": container("mesh", "example.invalid/mesh:1")}
    idle = container("sidecar", images.gateway, command=["python", "-c", "import signal; signal.pause()"])
    sidecar = {"op": "add", "path": "/spec/containers/-", "value": idle}
    lost = {"op": "replace", "path": "/spec/none/x", "value": 1}
    rewrites = [
        Rewrite("poddisruptionbudgets", "gateway", two, ("CREATE", "UPDATE")),
        Rewrite("services", "gateway", lost, ("UPDATE",)),
        Rewrite("pods", "gateway", mesh, ("CREATE",)),
        Rewrite("pods", "engine", sidecar, ("CREATE",)),
    ]
    with webhook(kubectl, images.gateway, {"app.kubernetes.io/instance": "m"}, rewrites):
        kubectl.apply(manifest())
        message = wait_for(kubectl, "m", "Degraded", "True", "Rewritten")
        assert "PodDisruptionBudget m-gateway was taken, but spec.maxUnavailable" in message
        assert "What to do: see kubectl get mutatingwebhookconfigurations" in message
        message = wait_for(kubectl, "m", "GatewayAvailable", "False", "ImagePull")
        assert "No template of Trellis has a container mesh" in message
        assert "What to do: ask who runs that webhook" in message
        assert calls(operator)["PATCH", "poddisruptionbudgets"] == 2, "each was applied once"
        kubectl.patch("embeddingmodel", "m", {"spec": {"gateway": {"expose": {"service": {"type": "NodePort"}}}}})
        message = wait_for(kubectl, "m", "Accepted", "False", "InternalError")
        assert "Service m was not taken" in message
        assert "does not apply" in message
    kubectl.run("delete", "pods", "-l", "app.kubernetes.io/component=gateway", "--wait=false")
    kubectl.patch("embeddingmodel", "m", {"spec": {"disruption": {"maxUnavailable": 2}}})
    wait_settled(kubectl, "m")
    wait_for(kubectl, "m", "Accepted", "True", "Valid")
    wait_for(kubectl, "m", "Degraded", "False", "AsAskedFor")
    [engine] = pods(kubectl, "engine").values()
    assert [each["name"] for each in engine["spec"]["containers"]] == ["engine", "sidecar"]
    before = writes(operator)
    throughout(lambda: writes(operator) == before, "nothing is written on account of a container that works", 8)
