"""What was observed of one model: its children and pods as the API server last told them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trellis_operator.desired.model_volume import mounted_folder
from trellis_operator.desired.names import INSTANCE
from trellis_operator.kinds import DEPLOYMENT, Kind
from trellis_operator.plan.pod_view import PodView

Object = dict[str, Any]
Ref = tuple[str, str]
"""Kind and name of an object in the model's namespace."""


@dataclass(frozen=True)
class Observed:
    """The children that the model owns, and its pods."""

    children: Mapping[Ref, Object] = field(default_factory=dict)
    pods: tuple[PodView, ...] = ()

    @property
    def folders_read(self) -> set[str]:
        """Folders of the model's volume that pods read, those on their way out as well, or soon may."""
        deployments = (child for (kind, _), child in self.children.items() if kind == DEPLOYMENT.name)
        templates = {_folder(each) for each in deployments}
        return {*templates, *(pod.folder for pod in self.pods)} - {""}

    def get(self, kind: Kind, name: str) -> Object | None:
        """One child, if it is there."""
        return self.children.get((kind.name, name))

    def pods_of(self, component: str) -> list[PodView]:
        """The pods of a component that are not on their way out."""
        return [pod for pod in self.pods if pod.component == component and not pod.terminating]


def _folder(deployment: Object) -> str:
    return mounted_folder(deployment["spec"]["template"]["spec"], deployment["metadata"]["labels"].get(INSTANCE, ""))


def ref(each: Object) -> Ref:
    """What an object is found by."""
    return each["kind"], each["metadata"]["name"]


def is_settled(deployment: Object | None) -> bool:
    """Whether a Deployment has no pod of an older template, and all that it wants of the newest."""
    if deployment is None:
        return True
    wanted, status = deployment["spec"].get("replicas", 1), deployment.get("status", {})
    return is_updated(deployment) and bool(status.get("readyReplicas", 0) == wanted)


def is_updated(deployment: Object) -> bool:
    """Whether a Deployment has as many pods as it wants, all of the newest template, ready or not."""
    wanted, status = deployment["spec"].get("replicas", 1), deployment.get("status", {})
    return bool(
        status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
        and status.get("replicas", 0) == wanted
        and status.get("updatedReplicas", 0) == wanted
    )


def all_settled(observed: Observed) -> bool:
    """Whether no rollout of the model is under way."""
    return all(is_settled(child) for (kind, _), child in observed.children.items() if kind == DEPLOYMENT.name)
