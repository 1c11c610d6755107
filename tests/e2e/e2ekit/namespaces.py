"""Namespaces of the tests: each takes only pods that pass the `restricted` Pod Security level."""

import secrets

from e2ekit.cluster import Cluster
from e2ekit.kubectl import Kubectl
from e2ekit.waiting import until

_LEVELS = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}


def make_namespace(cluster: Cluster, purpose: str) -> Kubectl:
    """A new namespace, and kubectl in it."""
    name = f"e2e-{purpose}-{secrets.token_hex(3)}"
    kubectl = Kubectl(cluster, name)
    labels = _LEVELS | {"app.kubernetes.io/part-of": "trellis-e2e"}
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    # Pods need it, and after the API server was away its maker comes back later than the API server.
    until(lambda: kubectl.find("serviceaccount", "default"), f"namespace {name} has its service account", 90)
    return kubectl


def remove_namespace(kubectl: Kubectl) -> None:
    """Ask for the deletion of all that is in it; does not wait."""
    kubectl.run("delete", "namespace", kubectl.namespace, "--wait=false", "--ignore-not-found")
