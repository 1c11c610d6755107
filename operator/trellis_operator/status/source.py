"""SourceReady: whether the weights are where pods read them.

Whether a claim that is not ours is there is told by pods that wait for it: the operator reads no claims of others.
"""

from trellis_operator.desired import names
from trellis_operator.kinds import CLAIM
from trellis_operator.plan.pod_view import PodView
from trellis_operator.source import ImageSource, PvcSource
from trellis_operator.status.condition import FALSE, TRUE, UNKNOWN, Condition
from trellis_operator.status.refusal import Refusal
from trellis_operator.status.trouble import (
    NO_CAPACITY,
    VOLUME_PENDING,
    download_trouble,
    earlier_attempt,
    fetch_trouble,
    image_trouble,
    mount_trouble,
    trouble,
)
from trellis_operator.status.view import View, condition_of, count, is_true

TYPE = "SourceReady"


def source_ready(view: View) -> Condition:
    """Judge the source."""
    source = view.model.model.source
    if view.source_lacks:
        return Condition(TYPE, FALSE, *view.source_lacks)
    if isinstance(source, ImageSource):
        return _from_image(view, source)
    if isinstance(source, PvcSource):
        return _from_volume(view, source)
    return _downloaded(view) if view.job_name else _fetched(view)


_MOUNTED = "pods mount the model from its source"


def _from_volume(view: View, source: PvcSource) -> Condition:
    """By the kubelet, which mounts a volume before it starts a program."""
    told = mount_trouble(view, source.claim)
    if told:
        return Condition(TYPE, FALSE, *told)
    if count(view.engine, "readyReplicas") or any(pod.started for pod in view.observed.pods_of(names.ENGINE)):
        return Condition(TYPE, TRUE, "Mounted", _MOUNTED)
    waits = trouble(view, names.ENGINE)
    # Whether the volume has to do with it, only its own words say: a path that is not there is told in the same way.
    asked = Condition(TYPE, UNKNOWN, *waits) if waits else Condition(TYPE, FALSE, "Mounting", _NOT_MOUNTED)
    return _nobody_asks(view) or asked


_NOT_MOUNTED = (
    "no engine has started with the model's volume yet. If that stays, see why in the events of an engine: kubectl "
    "describe pod"
)


def _from_image(view: View, source: ImageSource) -> Condition:
    """By the container runtime, which mounts the image or runs it to copy the model out of it."""
    told = image_trouble(view, source)
    if told:
        return Condition(TYPE, FALSE, told[0], f"{told[1].rstrip('. ')}. {_NO_IMAGE}")
    if count(view.engine, "readyReplicas") or any(map(_has_image, view.observed.pods_of(names.ENGINE))):
        return Condition(TYPE, TRUE, "Mounted", _MOUNTED)
    return _nobody_asks(view) or Condition(TYPE, FALSE, "Pulling", "no engine has the image of the model yet")


def _has_image(pod: PodView) -> bool:
    """Images of volumes are pulled first: a program that cannot start for another reason has its volume."""
    return pod.started or (pod.initialized and pod.trouble is not None)


_NO_IMAGE = (
    "What to do: see whether spec.model.source.image names an image and a folder that are there, and whether nodes "
    "may pull it. This is tried again."
)


def _downloaded(view: View) -> Condition:
    """By a Job, into a volume, before any pod is made."""
    if is_true(view.job, "Complete"):
        return Condition(TYPE, TRUE, "Downloaded", f"the model is on volume {names.model_claim(view.model)}")
    if view.claim is None and (refused := _refused_claim(view)):
        return Condition(TYPE, FALSE, refused.reason, refused.message)
    told = download_trouble(view)
    if is_true(view.job, "Failed"):
        failed = condition_of(view.job, "Failed")
        reason, message = told or (failed.get("reason", "Failed"), failed.get("message", ""))
        return Condition(TYPE, FALSE, reason, f"{message.rstrip('. ')}. {_AGAIN}")
    if view.claim and view.claim.get("status", {}).get("phase") == "Pending" and not told:
        return Condition(TYPE, FALSE, VOLUME_PENDING, _pending(view))
    if told and told[0] == NO_CAPACITY:
        return Condition(TYPE, UNKNOWN, *told)
    if told:
        return Condition(TYPE, FALSE, told[0], f"{told[1].rstrip('. ')}. This is tried again until the deadline.")
    return Condition(TYPE, FALSE, "Downloading", _under_way(view))


def _refused_claim(view: View) -> Refusal | None:
    """Why there is no claim to download into, and so no Job that would."""
    target = (CLAIM.name, names.model_claim(view.model))
    return next((each for each in view.refusals if each.target == target), None)


def _under_way(view: View) -> str:
    """A pod that cannot be made is told by its Job alone, in events: no condition of a Job has it."""
    before = earlier_attempt(view)
    if before:
        return f"the model is being downloaded; the attempt before this one failed: {before}"
    if view.observed.pods_of(names.DOWNLOAD):
        return "the model is being downloaded"
    return f"no pod downloads the model yet. If that stays, see why: kubectl describe job {view.job_name}"


_AGAIN = (
    "What to do: correct the source or its Secret, or write another text into the annotation trellis.dev/restart "
    "to try the same again."
)


def _pending(view: View) -> str:
    wanted = view.model.cache.storage_class if view.model.cache else None
    named = f"StorageClass {wanted}" if wanted else "the default StorageClass"
    return f"claim {names.model_claim(view.model)} has no volume yet: see whether {named} exists and can make one"


def _fetched(view: View) -> Condition:
    """By each pod for itself, onto its own disk."""
    told = fetch_trouble(view)
    if told:
        return Condition(TYPE, FALSE, told[0], f"{told[1].rstrip('. ')}. This is tried again.")
    if count(view.engine, "readyReplicas") or any(pod.initialized for pod in view.observed.pods_of(names.ENGINE)):
        return Condition(TYPE, TRUE, "Fetched", "pods have fetched the model from its source")
    return _nobody_asks(view) or Condition(TYPE, FALSE, "Fetching", "engines fetch the model")


def _nobody_asks(view: View) -> Condition | None:
    """No engine runs that could have asked the source, for another reason than the source."""
    if view.model.suspended or not view.model.engine.replicas:
        return Condition(TYPE, UNKNOWN, "NotNeeded", "no engine is asked for")
    waits = trouble(view, names.ENGINE)
    if waits and waits[0] == NO_CAPACITY:
        # Nothing is wrong with the source, and nobody was there yet to ask it.
        return Condition(TYPE, UNKNOWN, *waits)
    return None
