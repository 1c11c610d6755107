"""How many accelerators a new engine could have: those of nodes that it may run on, less those taken. Pure.

And how many engines of the model are on nodes: of one look, so that one that has just gone is not missing in both.

A first guess: the scheduler knows more reasons against a node (processors, memory, other pods). What it says of a pod
that is there weighs more, see `rollout`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trellis_operator.desired import names
from trellis_operator.desired.quantity import quantity
from trellis_operator.plan import node_affinity
from trellis_operator.spec import EmbeddingModel

Object = dict[str, Any]

_ENDED = {"Succeeded", "Failed"}


@dataclass(frozen=True)
class Room:
    """What a look at all nodes has found.

    Attributes:
        free: accelerators that a new engine could have.
        held: engines of the model that are on a node, also those that are on their way out.
    """

    free: int
    held: int


def room(model: EmbeddingModel, nodes: Iterable[Object], pods: Sequence[Object]) -> Room:
    """Look for both."""
    return Room(free_accelerators(model, nodes, pods), sum(_is_engine(model, pod) for pod in pods))


def _is_engine(model: EmbeddingModel, pod: Object) -> bool:
    """Whether a pod is an engine of the model, on a node."""
    labels = pod["metadata"].get("labels", {})
    ours = all(labels.get(key) == value for key, value in names.selector(model, names.ENGINE).items())
    there = pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") not in _ENDED
    return bool(ours and there and pod["metadata"].get("namespace") == model.namespace)


def free_accelerators(model: EmbeddingModel, nodes: Iterable[Object], pods: Iterable[Object]) -> int:
    """Count what is free on nodes that take engines of the model."""
    resource = model.engine.accelerator or ""
    taken: dict[str, int] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName", "")
        if node and pod.get("status", {}).get("phase") not in _ENDED:
            taken[node] = taken.get(node, 0) + _asked(pod, resource)
    fitting = [node for node in nodes if _takes(node, model.scheduling)]
    return sum(max(0, _allocatable(node, resource) - taken.get(node["metadata"]["name"], 0)) for node in fitting)


def _allocatable(node: Object, resource: str) -> int:
    return int(quantity(node.get("status", {}).get("allocatable", {}).get(resource, "0")) or 0)


def _asked(pod: Object, resource: str) -> int:
    limits = (each.get("resources", {}).get("limits", {}) for each in pod["spec"].get("containers", []))
    return sum(int(quantity(each.get(resource, "0")) or 0) for each in limits)


def _takes(node: Object, scheduling: Mapping[str, Any]) -> bool:
    """Whether a node is ready, not cordoned, one that is asked for, and has no taint that is not tolerated."""
    spec, labels = node.get("spec", {}), node["metadata"].get("labels", {})
    conditions = {each["type"]: each["status"] for each in node.get("status", {}).get("conditions", [])}
    if spec.get("unschedulable") or conditions.get("Ready") != "True":
        return False
    if any(labels.get(key) != value for key, value in scheduling.get("nodeSelector", {}).items()):
        return False
    if not node_affinity.allows(scheduling.get("affinity", {}), node):
        return False
    taints = [taint for taint in spec.get("taints", []) if taint["effect"] != "PreferNoSchedule"]
    return all(any(_tolerates(each, taint) for each in scheduling.get("tolerations", [])) for taint in taints)


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, taint["effect"]) or toleration.get("key") not in (None, taint["key"]):
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")
