"""What of a pod matters to its model: whether it is ready, and if not, why."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from trellis_operator.desired import names
from trellis_operator.desired.model_volume import mounted_folder
from trellis_operator.plan.volume_wait import VolumeWait, volume_wait

Object = dict[str, Any]

_JOB = "batch.kubernetes.io/job-name"
_ENDED = ("Failed", "Succeeded")
_HARMLESS = {"ContainerCreating", "PodInitializing"}
_MESSAGE_CHARACTERS = 500


@dataclass(frozen=True)
class Trouble:
    """Why a pod does not get ready, or why it ended.

    Attributes:
        container: where; empty for the pod as a whole.
        reason: one word.
        message: for people; may be empty.
        waiting: whether it goes on by itself once the cause is gone.
    """

    container: str
    reason: str
    message: str
    waiting: bool


@dataclass(frozen=True)
class PodView:
    """One pod.

    Attributes:
        component: engine, gateway or download.
        initialized: whether what runs before its programs has ended well.
        started: whether one of its programs runs, or did.
        unschedulable: what the scheduler says, if it finds no node.
        trouble: the first of its containers, if one has any.
        template_hash: of the template that it was made of.
        created: when, as RFC 3339.
        job: name of the Job that made it; empty for others.
        folder: of the volume that downloads of its model are kept on, which it reads; empty where it reads none.
        ended: whether none of its containers will run again: a controller has made, or will make, another one.
        address: where its programs listen; empty while it has none. Two views that differ in it alone are equal: it is
            read in a visit, and no reason for one.
    """

    name: str
    component: str
    ready: bool
    initialized: bool
    terminating: bool
    unschedulable: str
    trouble: Trouble | None
    template_hash: str
    started: bool = False
    created: str = ""
    job: str = ""
    folder: str = ""
    ended: bool = False
    address: str = field(default="", compare=False)

    @property
    def volume_wait(self) -> VolumeWait | None:
        """The volume that it finds no node for."""
        return volume_wait(self.unschedulable)

    @property
    def waits_for_room(self) -> bool:
        """Whether it would find a node if there were more of them, or less on them."""
        return bool(self.unschedulable) and self.volume_wait is None


def pod_view(pod: Object) -> PodView:
    """Reduce a pod as the API server gives it."""
    metadata, status = pod["metadata"], pod.get("status", {})
    conditions = {each["type"]: each for each in status.get("conditions", [])}
    scheduled = conditions.get("PodScheduled", {})
    return PodView(
        name=metadata["name"],
        component=metadata.get("labels", {}).get(names.COMPONENT, ""),
        ready=conditions.get("Ready", {}).get("status") == "True",
        initialized=conditions.get("Initialized", {}).get("status") == "True",
        terminating="deletionTimestamp" in metadata,
        unschedulable=scheduled.get("message", "") if scheduled.get("reason") == "Unschedulable" else "",
        trouble=next(_troubles(status), None),
        template_hash=metadata.get("labels", {}).get("pod-template-hash", ""),
        started=any(_has_run(each) for each in status.get("containerStatuses", [])),
        created=metadata.get("creationTimestamp") or "",
        job=metadata.get("labels", {}).get(_JOB, ""),
        folder=mounted_folder(pod.get("spec", {}), metadata.get("labels", {}).get(names.INSTANCE, "")),
        ended=status.get("phase") in _ENDED,
        address=status.get("podIP", ""),
    )


def _has_run(container: Object) -> bool:
    state = container.get("state", {}).keys() | container.get("lastState", {}).keys()
    return not state.isdisjoint({"running", "terminated"})


def _troubles(status: Object) -> Iterator[Trouble]:
    for each in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
        if each.get("ready"):
            continue
        waiting = each.get("state", {}).get("waiting", {})
        ended = each.get("state", {}).get("terminated") or each.get("lastState", {}).get("terminated")
        if ended and ended.get("exitCode"):
            yield _ended(each["name"], ended)
        elif waiting and waiting.get("reason") not in _HARMLESS:
            yield Trouble(each["name"], waiting.get("reason", ""), _short(waiting.get("message", "")), waiting=True)
    if status.get("reason"):
        yield Trouble("", status["reason"], _short(status.get("message", "")), waiting=False)


def _ended(container: str, ended: Object) -> Trouble:
    """A container that ended tells why in its termination message: as JSON, or as the end of its log."""
    said = ended.get("message", "")
    try:
        told = json.loads(said)
        return Trouble(container, str(told["reason"]), _short(str(told["message"])), waiting=False)
    except (ValueError, TypeError, KeyError):
        last = said.strip().splitlines()[-1] if said.strip() else f"exit code {ended.get('exitCode')}"
        return Trouble(container, ended.get("reason", "Error"), _short(last), waiting=False)


def _short(text: str) -> str:
    return text if len(text) <= _MESSAGE_CHARACTERS else text[: _MESSAGE_CHARACTERS - 1] + "…"
