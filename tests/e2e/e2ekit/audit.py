"""What the API server of our own cluster has taken from the operator, by its audit log: each write and its time."""

import datetime
import json
from dataclasses import dataclass

from e2ekit.kubectl import Kubectl

_MANAGER = "fieldManager=trellis-operator"


@dataclass(frozen=True)
class Write:
    """One write.

    Attributes:
        at: seconds since 1970, when the API server was asked.
        resource: the plural, with a subresource behind a slash.
    """

    at: float
    resource: str
    name: str


def operator_writes(kubectl: Kubectl) -> list[Write]:
    """All writes with the operator's field manager to a namespace of our own cluster, the oldest first."""
    with kubectl.cluster.audit_log.open(encoding="utf-8") as log:
        events = [json.loads(line) for line in log if kubectl.namespace in line and _MANAGER in line]
    found = [_write(each) for each in events if each["objectRef"].get("namespace") == kubectl.namespace]
    return sorted(found, key=lambda each: each.at)


def _write(event: dict[str, dict[str, str]]) -> Write:
    asked = event["objectRef"]
    resource = "/".join(part for part in (asked["resource"], asked.get("subresource")) if part)
    at = datetime.datetime.fromisoformat(str(event["requestReceivedTimestamp"]))
    return Write(at.timestamp(), resource, asked.get("name", ""))
