"""Why pods of a component are missing or not ready: the first cause that a person could do something about.

Of several pods the newest tells it: what an older one says may have been mended since.
"""

from collections.abc import Iterable

from trellis_operator.desired import names
from trellis_operator.desired.fetch import FETCH
from trellis_operator.desired.model_volume import COPY
from trellis_operator.plan.observed import is_settled
from trellis_operator.plan.pod_view import PodView, Trouble
from trellis_operator.plan.volume_wait import VolumeWait
from trellis_operator.source import ImageSource, PvcSource
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.refusal import explained
from trellis_operator.status.view import View, condition_of

NO_CAPACITY = "NoCapacity"
VOLUME_NOT_FOUND = "VolumeNotFound"
VOLUME_PENDING = "VolumePending"
_OURS = (names.ENGINE, names.GATEWAY, FETCH, COPY)
_IMAGE = {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}


def trouble(view: View, component: str) -> tuple[str, str] | None:
    """A reason and a sentence; None where pods are merely starting."""
    owner = view.engine if component == names.ENGINE else view.gateway
    failure = condition_of(owner, "ReplicaFailure")
    if failure.get("status") == "True":
        reason, hint = explained(403, failure.get("message", ""))
        return reason, f"pods cannot be made: {failure.get('message', '')}. What to do: {hint}."
    pods = view.observed.pods_of(component)
    # One that was evicted stays for long: it is history once there are others in its place.
    count = [pod for pod in pods if not (pod.ended and is_settled(owner))]
    return _unschedulable(view, pods) or _newest(count)


def fetch_trouble(view: View) -> tuple[str, str] | None:
    """Why the model does not come from its source, where each pod fetches it for itself."""
    pods = [pod for pod in view.observed.pods if not (pod.terminating or pod.job)]
    return _newest(pod for pod in pods if pod.trouble and pod.trouble.container == FETCH)


def image_trouble(view: View, source: ImageSource) -> tuple[str, str] | None:
    """Why the model does not come out of its image.

    A container that is to mount an image that cannot be had waits as it does for its own; the message has its name.
    """
    pods = [pod for pod in view.observed.pods if not pod.terminating]
    return _newest(pod for pod in pods if pod.trouble and _is_of_image(pod.trouble, source))


def _is_of_image(found: Trouble, source: ImageSource) -> bool:
    return found.container == COPY or (found.reason in _IMAGE and source.reference in found.message)


def download_trouble(view: View) -> tuple[str, str] | None:
    """Why the download does not go on: what the newest pod of its Job says; None while that one works."""
    pods = _attempts(view)
    if not pods:
        return None
    if pods[0].waits_for_room:
        return _unschedulable(view, pods[:1])
    return _newest(pods[:1])


def earlier_attempt(view: View) -> str:
    """How the attempt before this one of the download ended; empty where this is the first."""
    told = _newest(_attempts(view))
    return told[1] if told else ""


def _attempts(view: View) -> list[PodView]:
    """The pods of the download that is asked for now, newest first."""
    return _by_age(pod for pod in view.observed.pods_of(names.DOWNLOAD) if pod.job == view.job_name)


def mount_trouble(view: View, claim: str) -> tuple[str, str] | None:
    """Why pods cannot have the volume of a claim that the manifest names."""
    for pod in view.observed.pods:
        wait = pod.volume_wait
        if wait and not pod.terminating and wait.claim in ("", claim):
            return _without_volume(view.model, pod, wait)
    return None


def _unschedulable(view: View, pods: list[PodView]) -> tuple[str, str] | None:
    for pod in pods:
        if pod.volume_wait:
            return _without_volume(view.model, pod, pod.volume_wait)
        if pod.unschedulable:
            wanted = view.model.engine.accelerator if pod.component == names.ENGINE else None
            what = f"a free {wanted}" if wanted and wanted in pod.unschedulable else "a node that it fits on"
            return NO_CAPACITY, f"pod {pod.name} waits for {what}: {pod.unschedulable}"
    return None


def _without_volume(model: EmbeddingModel, pod: PodView, wait: VolumeWait) -> tuple[str, str]:
    said = f"pod {pod.name} waits for a volume: {pod.unschedulable.rstrip('. ')}. What to do:"
    if not wait.found:
        return VOLUME_NOT_FOUND, f"{said} make the claim {wait.claim} in this namespace, or name another one."
    source = model.model.source
    claim = source.claim if isinstance(source, PvcSource) else names.model_claim(model)
    return VOLUME_PENDING, f"{said} see why the claim has no volume yet: kubectl describe pvc {claim}."


def _newest(pods: Iterable[PodView]) -> tuple[str, str] | None:
    return next((_of(pod, pod.trouble) for pod in _by_age(pods) if pod.trouble), None)


def _by_age(pods: Iterable[PodView]) -> list[PodView]:
    return sorted(pods, key=lambda pod: (pod.created, pod.name), reverse=True)


def _of(pod: PodView, found: Trouble) -> tuple[str, str]:
    if found.reason in _IMAGE:
        said = f"pod {pod.name}: the image of {found.container} cannot be had: {found.message}"
        return "ImagePull", said + _if_injected(found)
    where = f"{found.container} of pod {pod.name}" if found.container else f"pod {pod.name}"
    return found.reason or "NotReady", f"{where}: {found.message or 'no message'}{_if_injected(found)}"


def _if_injected(found: Trouble) -> str:
    """What to do about a container that no template of ours has."""
    if found.container in ("", *_OURS):
        return ""
    return (
        f". No template of Trellis has a container {found.container}: a webhook of this cluster puts it into pods. "
        "What to do: ask who runs that webhook to mend it, or to spare pods with the label "
        "app.kubernetes.io/managed-by=trellis."
    )
