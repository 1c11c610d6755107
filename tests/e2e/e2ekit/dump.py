"""What a person would look at after a failed test: models, pods, events and the last lines of every container."""

from e2ekit.kubectl import Kubectl, RefusedError

_LINES = "25"


def dump(kubectl: Kubectl) -> str:
    """All of it, as text."""
    looks = [
        ("get", "all,pvc,endpointslices,networkpolicies", "-o", "wide"),
        ("get", "embeddingmodels", "-o", "yaml"),
        ("get", "events", "--sort-by=.lastTimestamp"),
        *(part for name in _pods(kubectl) for part in _of_pod(name)),
    ]
    return "\n".join(f"$ kubectl {' '.join(look)}\n{_seen(kubectl, look)}" for look in looks)


def _of_pod(name: str) -> list[tuple[str, ...]]:
    return [
        ("get", "pod", name, "-o", "jsonpath={.status}"),
        ("logs", name, "--all-containers", "--prefix", "--tail", _LINES),
        ("logs", name, "--all-containers", "--prefix", "--previous", "--tail", _LINES),
    ]


def _pods(kubectl: Kubectl) -> list[str]:
    try:
        return [pod["metadata"]["name"] for pod in kubectl.all("pods")]
    except RefusedError:
        return []


def _seen(kubectl: Kubectl, look: tuple[str, ...]) -> str:
    try:
        return kubectl.run(*look, timeout_s=20)
    except RefusedError as error:
        return str(error)
