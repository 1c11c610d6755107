"""SourceReady: whether the weights are where pods read them.

Whether a claim that is not ours is there is told by pods that wait for it: the operator reads no claims of others.
"""

from trellis_operator.desired import names
from trellis_operator.source import ImageSource, PvcSource
from trellis_operator.status.condition import FALSE, TRUE, UNKNOWN, Condition
from trellis_operator.status.trouble import NO_CAPACITY, VOLUME_PENDING, fetch_trouble, mount_trouble, trouble
from trellis_operator.status.view import View, condition_of, count, is_true

TYPE = "SourceReady"


def source_ready(view: View) -> Condition:
    """Judge the source."""
    source = view.model.model.source
    told = mount_trouble(view, source.claim) if isinstance(source, PvcSource) else None
    if told:
        return Condition(TYPE, FALSE, *told)
    if isinstance(source, PvcSource | ImageSource):
        return Condition(TYPE, TRUE, "Mounted", "pods mount the model from its source")
    return _downloaded(view) if view.job_name else _fetched(view)


def _downloaded(view: View) -> Condition:
    """By a Job, into a volume, before any pod is made."""
    if is_true(view.job, "Complete"):
        return Condition(TYPE, TRUE, "Downloaded", f"the model is on volume {names.model_claim(view.model)}")
    told = fetch_trouble(view)
    if is_true(view.job, "Failed"):
        failed = condition_of(view.job, "Failed")
        reason, message = told or (failed.get("reason", "Failed"), failed.get("message", ""))
        return Condition(TYPE, FALSE, reason, f"{message.rstrip('. ')}. {_AGAIN}")
    if view.claim and view.claim.get("status", {}).get("phase") == "Pending" and not told:
        return Condition(TYPE, FALSE, VOLUME_PENDING, _pending(view))
    if told:
        return Condition(TYPE, FALSE, told[0], f"{told[1].rstrip('. ')}. This is tried again until the deadline.")
    return Condition(TYPE, FALSE, "Downloading", "the model is being downloaded")


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
    if view.model.suspended or not view.model.engine.replicas:
        return Condition(TYPE, UNKNOWN, "NotNeeded", "no engine is asked for")
    waits = trouble(view, names.ENGINE)
    if waits and waits[0] == NO_CAPACITY:
        # Nothing is wrong with the source, and nobody was there yet to ask it.
        return Condition(TYPE, UNKNOWN, *waits)
    return Condition(TYPE, FALSE, "Fetching", "engines fetch the model")
