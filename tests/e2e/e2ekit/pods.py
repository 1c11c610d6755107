"""Pods of the tests themselves, which run scripts of `in_pod` with the interpreter of the gateway's image."""

from pathlib import Path

from e2ekit.kubectl import Manifest

_SCRIPTS = Path(__file__).parent / "in_pod"


def script_pod(name: str, image: str, command: list[str], files: dict[str, str]) -> list[Manifest]:
    """A pod that runs `command`, and the ConfigMap with the scripts and `files`, which lie in /scripts."""
    data = {path.name: path.read_text(encoding="utf-8") for path in _SCRIPTS.glob("*.py")} | files
    labels = {"app.kubernetes.io/part-of": "trellis-e2e"}
    metadata = {"name": name, "labels": labels}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data},
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _spec(name, image, command)},
    ]


def container(name: str, image: str, **fields: object) -> Manifest:
    """A container that passes the `restricted` level; `fields` are what stands beside that."""
    allowed = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    return {"name": name, "image": image, "securityContext": allowed, **fields}


def _spec(name: str, image: str, command: list[str]) -> Manifest:
    mounts = [{"name": "scripts", "mountPath": "/scripts"}, {"name": "tmp", "mountPath": "/tmp"}]
    return {
        "automountServiceAccountToken": False,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container("main", image, command=command, volumeMounts=mounts)],
        "volumes": [{"name": "scripts", "configMap": {"name": name}}, {"name": "tmp", "emptyDir": {}}],
    }
