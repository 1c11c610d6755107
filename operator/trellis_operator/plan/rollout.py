"""How engines of an older template are replaced: one more first, or one fewer first. Pure.

An engine that waits for an accelerator that never frees would hold up a rollout for ever, and one that gives its own
away before another serves would be an outage. So: surge where an accelerator is free, else in place where another
engine goes on serving, else surge and wait.

That is chosen once, when a rollout begins: its own new engine takes the accelerator that was free. Later only an engine
that finds no node changes it, whatever else looks free, and never back.

Where more engines are asked for than there is room for, those without count as missing from the start: a Deployment
that may miss one alone would never take one that serves, and the new engines would wait for it for ever. They are
replaced first, then those that serve, one by one.
"""

from typing import Any

from trellis_operator.desired.child import Object
from trellis_operator.plan.capacity import Room
from trellis_operator.plan.drift import difference
from trellis_operator.plan.observed import is_updated
from trellis_operator.spec import EmbeddingModel


def in_place(missing: int) -> Object:
    """Never one more than asked for, and up to `missing` fewer that serve."""
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": missing}}


SURGE: Object = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}
IN_PLACE: Object = in_place(1)


def rolls(model: EmbeddingModel, wanted: Object, seen: Object | None) -> bool:
    """Whether the strategy depends on who finds room now: a rollout is about to begin or under way."""
    if seen is None or _always_surges(model):
        return False
    return not is_updated(seen) or difference(wanted["spec"]["template"], seen["spec"]["template"]) is not None


def strategy(model: EmbeddingModel, seen: Object | None, room: Room | None, waiting: int = 0) -> Object:
    """The strategy of the engine Deployment.

    Args:
        model: whose.
        seen: the Deployment that is there.
        room: what there is for engines; None where nobody looked, or could.
        waiting: engines that find no node; the scheduler knows better than who counts.
    """
    if _always_surges(model):
        return SURGE
    replicas, so_far = model.engine.replicas, _missing_so_far(seen)
    short = _short(replicas, seen, room, waiting)
    if model.engine.rollout_strategy == "inPlace":
        return in_place(min(max(short + 1, so_far), max(replicas, 1)))
    if short:
        # One that serves alone is not taken.
        others = 1 if replicas - short > 1 else 0
        return in_place(min(max(short + others, so_far), replicas if short == replicas else replicas - 1))
    if replicas < 2:
        return SURGE
    if waiting:
        return in_place(min(max(1, so_far), replicas - 1))
    if room is None or (seen is not None and not is_updated(seen)):
        return in_place(min(so_far, replicas - 1)) if so_far else SURGE
    return SURGE if room.free else IN_PLACE


def _always_surges(model: EmbeddingModel) -> bool:
    asked = model.engine.rollout_strategy
    return asked == "surge" or (asked == "auto" and not model.engine.accelerated)


def _short(replicas: int, seen: Object | None, room: Room | None, waiting: int) -> int:
    """For how many of the engines that are asked for there is no room.

    Before a rollout those that wait tell it. Later one may wait only until the one that it replaces is gone.
    """
    counted = max(0, replicas - room.held - room.free) if room else 0
    told = waiting if waiting and seen is not None and is_updated(seen) else 0
    return min(replicas, max(counted, told))


def _missing_so_far(seen: Object | None) -> int:
    """How many may be missing in the rollout in place that is under way; 1 before the next one, 0 with one more."""
    current: Any = seen["spec"].get("strategy", {}).get("rollingUpdate", {}) if seen else {}
    if not seen or current.get("maxSurge") != 0:
        return 0
    missing = current.get("maxUnavailable")
    return missing if isinstance(missing, int) and missing > 1 and not is_updated(seen) else 1
