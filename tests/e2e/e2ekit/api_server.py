"""The API server of a cluster of our own, taken away and brought back."""

from subprocess import TimeoutExpired

from e2ekit.cluster import Cluster
from e2ekit.kubectl import Kubectl, RefusedError
from e2ekit.waiting import until

_BACK_S = 60.0


def take_away(cluster: Cluster) -> None:
    """From now on nobody reaches it."""
    cluster.tool("stop", "kube-apiserver")


def bring_back(kubectl: Kubectl) -> None:
    """Start it, unless it runs, and wait until it answers."""
    kubectl.cluster.tool("start", "kube-apiserver")
    until(lambda: _answers(kubectl), "the API server is back", _BACK_S)


def _answers(kubectl: Kubectl) -> bool:
    try:
        kubectl.run("get", "namespace", "default", timeout_s=10)
    except (RefusedError, TimeoutExpired):
        return False
    return True
