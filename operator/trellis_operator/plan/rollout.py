"""How engines of an older template are replaced: one more first, or one fewer first. Pure.

An engine that waits for an accelerator that never frees would hold up a rollout for ever, and one that gives its own
away before another serves would be an outage. So: surge where an accelerator is free, else in place where another
engine goes on serving, else surge and wait.

That is chosen once, when a rollout begins: its own new engine takes the accelerator that was free. Later only an engine
that finds no node changes it, whatever else looks free, and never back.
"""

from typing import Any

from trellis_operator.desired.child import Object
from trellis_operator.plan.drift import difference
from trellis_operator.plan.observed import is_updated
from trellis_operator.spec import EmbeddingModel

SURGE: Object = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}
IN_PLACE: Object = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


def needs_capacity(model: EmbeddingModel, wanted: Object, seen: Object | None) -> bool:
    """Whether the strategy depends on free accelerators now: a rollout is about to begin or under way."""
    if seen is None or not model.engine.accelerated or model.engine.rollout_strategy != "auto":
        return False
    return not is_updated(seen) or difference(wanted["spec"]["template"], seen["spec"]["template"]) is not None


def strategy(model: EmbeddingModel, seen: Object | None, free: int | None, waits: bool = False) -> Object:
    """The strategy of the engine Deployment.

    Args:
        model: whose.
        seen: the Deployment that is there.
        free: accelerators that a new engine could have; None where nobody looked, or could.
        waits: whether an engine waits for a node; the scheduler knows better than who counts.
    """
    asked = model.engine.rollout_strategy
    if asked != "auto" or not model.engine.accelerated:
        return IN_PLACE if asked == "inPlace" else SURGE
    if model.engine.replicas < 2:
        return SURGE
    if waits:
        return IN_PLACE
    if free is None or (seen is not None and not is_updated(seen)):
        return _current(seen)
    return SURGE if free else IN_PLACE


def _current(seen: Object | None) -> Object:
    """The one that is there: what does not roll needs no other."""
    current: Any = seen["spec"].get("strategy", {}).get("rollingUpdate", {}) if seen else {}
    return IN_PLACE if current.get("maxSurge") == 0 else SURGE
