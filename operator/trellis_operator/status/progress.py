"""Progressing and Degraded: whether a change is on its way, and whether something is not as it should be."""

from typing import Any

from trellis_operator.desired import names
from trellis_operator.plan.observed import is_settled, is_updated
from trellis_operator.status import contents
from trellis_operator.status.condition import FALSE, TRUE, Condition
from trellis_operator.status.trouble import NO_CAPACITY, VOLUME_NOT_FOUND, VOLUME_PENDING, trouble
from trellis_operator.status.view import View, condition_of, count, is_true


def progressing(view: View) -> Condition:
    """True while a change goes on and once it is complete; False where it is stuck."""
    kind = "Progressing"
    if view.model.suspended:
        return Condition(kind, FALSE, "Suspended", "spec.suspend is true")
    if view.refusals:
        return Condition(kind, FALSE, view.refusals[0].reason, view.refusals[0].message)
    if view.source_lacks:
        return Condition(kind, FALSE, *view.source_lacks)
    if view.job_name and not is_true(view.job, "Complete"):
        return Condition(kind, TRUE, "Downloading", "pods are made or changed once the model is downloaded")
    if view.engine and view.gateway and _is_complete(view.engine) and _is_complete(view.gateway):
        return Condition(kind, TRUE, "Complete", "all pods are of the newest template")
    return _stuck(view) or Condition(kind, TRUE, "RollingOut", _how_far(view))


def _is_complete(deployment: dict[str, Any]) -> bool:
    """Whether a rollout came to its end, also if a pod has failed since."""
    ended = condition_of(deployment, "Progressing").get("reason") == "NewReplicaSetAvailable"
    return is_settled(deployment) or (ended and is_updated(deployment))


def _stuck(view: View) -> Condition | None:
    found = trouble(view, names.ENGINE) or trouble(view, names.GATEWAY)
    if found and found[0] == NO_CAPACITY:
        hint = "It goes on by itself when there is room; engine.rollout.strategy inPlace needs none."
        return Condition("Progressing", FALSE, NO_CAPACITY, f"{found[1].rstrip('. ')}. {hint}")
    if found and found[0] in (VOLUME_NOT_FOUND, VOLUME_PENDING):
        return Condition("Progressing", FALSE, *found)
    late = [each for each in (view.engine, view.gateway) if _is_late(each)]
    if late:
        message = found[1] if found else condition_of(late[0], "Progressing").get("message", "")
        return Condition("Progressing", FALSE, "DeadlineExceeded", f"no progress within the deadline: {message}")
    return None


def _is_late(deployment: dict[str, Any] | None) -> bool:
    return bool(condition_of(deployment, "Progressing").get("reason") == "ProgressDeadlineExceeded")


def _how_far(view: View) -> str:
    engines, gateways = count(view.engine, "updatedReplicas"), count(view.gateway, "updatedReplicas")
    return (
        f"{engines} of {view.model.engine.replicas} engines and {gateways} of {view.model.gateway.replicas} gateways "
        "are of the newest template"
    )


def degraded(view: View) -> Condition:
    """True where something is not as asked for, and will not get so by mere waiting."""
    kind = "Degraded"
    if view.refusals:
        return Condition(kind, TRUE, view.refusals[0].reason, view.refusals[0].message)
    if view.contested:
        return Condition(kind, TRUE, "ForeignWriter", view.contested[0])
    if view.rewritten:
        more = f" ({len(view.rewritten) - 1} more objects like it)" if len(view.rewritten) > 1 else ""
        return Condition(kind, TRUE, "Rewritten", view.rewritten[0] + more)
    if view.model.suspended:
        return Condition(kind, FALSE, "Suspended", "spec.suspend is true")
    found = contents.mixed(view) or trouble(view, names.ENGINE) or trouble(view, names.GATEWAY)
    if found:
        return Condition(kind, TRUE, *found)
    lost = [each for each in (view.engine, view.gateway) if each and _lost_pods(each)]
    if lost:
        message = f"Deployment {lost[0]['metadata']['name']} has pods that are not ready"
        return Condition(kind, TRUE, "PodsNotReady", message)
    return Condition(kind, FALSE, "AsAskedFor", "everything is as the manifest says")


def _lost_pods(deployment: dict[str, Any]) -> bool:
    """Whether a Deployment that had come to its end is short of ready pods."""
    whole = condition_of(deployment, "Progressing").get("reason") == "NewReplicaSetAvailable"
    return whole and not is_settled(deployment)
