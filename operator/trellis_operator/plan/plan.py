"""The plan: which objects to apply and which to delete, each with its reason. Empty where all is as wanted."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trellis_operator.desired.child import Object
from trellis_operator.desired.deployment import TEMPLATE
from trellis_operator.kinds import BY_NAME, CLAIM, DEPLOYMENT, JOB
from trellis_operator.plan.drift import difference
from trellis_operator.plan.observed import Observed, Ref, all_settled, ref

APPLY = "apply"
DELETE = "delete"


@dataclass(frozen=True)
class Action:
    """One write.

    Attributes:
        verb: apply or delete.
        target: kind and name.
        reason: `absent`, the path of a field that differs, or why it goes.
        body: of what is applied; empty for a deletion.
        uid: of what is deleted, so that nothing newer of that name is.
    """

    verb: str
    target: Ref
    reason: str
    body: Object
    uid: str = ""

    @property
    def claims(self) -> set[Ref]:
        """The claims that the pods of a Job would mount, which is the kind of pods that write into them."""
        if self.verb != APPLY or self.target[0] != JOB.name:
            return set()
        volumes = self.body["spec"]["template"]["spec"]["volumes"]
        mounted = [each["persistentVolumeClaim"] for each in volumes if "persistentVolumeClaim" in each]
        return {(CLAIM.name, each["claimName"]) for each in mounted}

    def __str__(self) -> str:
        kind, name = self.target
        return f"{self.verb} {kind} {name}: {self.reason}"


@dataclass(frozen=True)
class Plan:
    """What is to be done, in this order.

    Attributes:
        left_alone: objects that are not as wanted, and about which nothing is done.
    """

    actions: tuple[Action, ...] = ()
    left_alone: frozenset[Ref] = frozenset()

    @property
    def targets(self) -> set[Ref]:
        """Of all actions."""
        return {action.target for action in self.actions}

    @property
    def claims_to_make(self) -> set[Ref]:
        """The claims that the model does not have yet, though another one of that name may be there."""
        return {each.target for each in self.actions if each.target[0] == CLAIM.name and each.reason == "absent"}

    def __bool__(self) -> bool:
        return bool(self.actions)


def plan(wanted: Sequence[Object], observed: Observed, left_alone: Mapping[Ref, str] | None = None) -> Plan:
    """Compare.

    Args:
        wanted: the objects, in the order in which they are to be applied.
        observed: what is there.
        left_alone: objects that the API server or a webhook keeps otherwise than we apply them, with the
            fingerprint of what came out of it: they are not applied again while they look like that.
    """
    applies = list(_applies(wanted, observed))
    kept = {action.target for action in applies if _is_known(action, observed, left_alone or {})}
    applies = [action for action in applies if action.target not in kept]
    rolls = any(action.target[0] == DEPLOYMENT.name for action in applies)
    return Plan((*applies, *_deletes(wanted, observed, rolls)), frozenset(kept))


def _applies(wanted: Sequence[Object], observed: Observed) -> Iterator[Action]:
    for each in wanted:
        target = ref(each)
        seen = observed.children.get(target)
        if seen is None:
            yield Action(APPLY, target, "absent", each)
        elif _can_change(seen) and (path := difference(each, seen)):
            yield Action(APPLY, target, f"{path} differs", each)


def _is_known(action: Action, observed: Observed, left_alone: Mapping[Ref, str]) -> bool:
    """Whether an apply would only bring out again what came out of the last one."""
    seen = observed.children.get(action.target)
    return seen is not None and left_alone.get(action.target) == fingerprint(action.body, seen)


def fingerprint(wanted: Object, seen: Object) -> str:
    """What was asked for and what came out of it, without what changes by itself."""
    metadata = {key: seen["metadata"].get(key) for key in ("labels", "annotations", "ownerReferences", "uid")}
    fixed = {key: value for key, value in seen.items() if key not in ("metadata", "status")}
    return hashlib.sha256(json.dumps([wanted, metadata, fixed], sort_keys=True).encode()).hexdigest()


def _can_change(seen: Object) -> bool:
    """What is on its way out is waited for; what cannot be changed is left as it is."""
    return "deletionTimestamp" not in seen["metadata"] and not BY_NAME[seen["kind"]].once


def _deletes(wanted: Sequence[Object], observed: Observed, rolls: bool) -> Iterator[Action]:
    keep = {ref(each) for each in wanted}
    templates = _templates(wanted, observed)
    pods_change = rolls or not all_settled(observed)
    for target, seen in observed.children.items():
        kind, name = target
        needed = BY_NAME[kind].for_pods and (pods_change or json.dumps(name) in templates)
        if target not in keep and not needed and "deletionTimestamp" not in seen["metadata"]:
            yield Action(DELETE, target, "no longer asked for", {}, seen["metadata"]["uid"])


def _templates(wanted: Sequence[Object], observed: Observed) -> str:
    """The templates that pods may still be made of: those of Deployments, and of a download that has not ended."""
    written = [each["metadata"]["annotations"][TEMPLATE] for each in wanted if each["kind"] == DEPLOYMENT.name]
    jobs = [each for (kind, _), each in observed.children.items() if kind == JOB.name]
    under_way = [each for each in jobs if not each.get("status", {}).get("succeeded")]
    return "".join([*written, *(json.dumps(each["spec"]["template"]) for each in under_way)])
