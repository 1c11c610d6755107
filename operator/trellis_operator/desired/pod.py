"""What all pods share: who they run as, what they may do, and where they may write. Passes `restricted`."""

from collections.abc import Mapping, Sequence
from typing import Any

from trellis_operator.desired.setting import ClusterSetting

Object = dict[str, Any]

USER = 65532
SCRATCH = "scratch"
_GRACE_S = 10
"""What a container may take beyond its own drain: to start it, and to flush."""


def container(
    name: str, image: str, setting: ClusterSetting, command: Sequence[str], mounts: Sequence[Object], **fields: Any
) -> Object:
    """A container without privileges that can write to /tmp alone; `fields` are what stands beside that."""
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": setting.pull_policy,
        "command": list(command),
        "env": [{"name": "HOME", "value": "/tmp"}, *fields.pop("env", [])],  # noqa: S108 - in the pod's own scratch
        "volumeMounts": [{"name": SCRATCH, "mountPath": "/tmp"}, *mounts],  # noqa: S108
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        **{key: value for key, value in fields.items() if value},
    }


def pod_spec(account: str, containers: Sequence[Object], volumes: Sequence[Object], **fields: Any) -> Object:
    """A pod that runs as nobody special; `fields` are what stands beside that."""
    return {
        "serviceAccountName": account,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "enableServiceLinks": False,
        "containers": list(containers),
        "volumes": [{"name": SCRATCH, "emptyDir": {}}, *volumes],
        **{key: value for key, value in fields.items() if value or value is False},
    }


def grace_s(delay_s: int, timeout_s: int) -> int:
    """How long a pod may take to stop: longer than its drain, or accepted work would be cut off."""
    return delay_s + timeout_s + _GRACE_S


def spread(labels: Mapping[str, str]) -> list[Object]:
    """Prefer different nodes for pods of the same kind."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": dict(labels)},
        }
    ]
