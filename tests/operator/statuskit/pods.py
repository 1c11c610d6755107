"""Pods as a cluster shows them that have not come up, and looks at a model that has them."""

from typing import Any

from trellis_operator.plan.observed import Observed
from trellis_operator.plan.pod_view import pod_view

Body = dict[str, Any]


def pod(component: str, **status: Any) -> Body:
    labels = {"app.kubernetes.io/component": component}
    return {"metadata": {"name": f"{component}-pod", "labels": labels}, "status": status}


def with_pods(observed: Observed, *pods: Body) -> Observed:
    return Observed(observed.children, tuple(pod_view(each) for each in pods))


def starting(observed: Observed) -> Observed:
    """Nothing is ready yet."""
    for child in observed.children.values():
        if child["kind"] == "Deployment":
            child["status"] |= {"readyReplicas": 0}
    return observed


def container(name: str, **state: Any) -> Body:
    return {"name": name, "ready": False, **state}


def unschedulable(message: str) -> Body:
    return {
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}],
    }


UNSCHEDULABLE = unschedulable("0/2 nodes are available: 2 Insufficient nvidia.com/gpu.")
