"""Autoscaled: whether the number of engines follows the work."""

from trellis_operator.status.condition import FALSE, TRUE, UNKNOWN, Condition
from trellis_operator.status.view import View, condition_of


def autoscaled(view: View) -> Condition:
    """Judge by what KEDA says of its object."""
    kind = "Autoscaled"
    if view.model.engine.autoscaling is None:
        return Condition(kind, FALSE, "NotAskedFor", "engines are as many as spec.engine.replicas says")
    if view.model.suspended:
        return Condition(kind, FALSE, "Suspended", "spec.suspend is true: no pod is asked for")
    if view.scaler_lacks:
        return Condition(kind, FALSE, *view.scaler_lacks)
    said = condition_of(view.scaled_object, "Ready")
    if said.get("status") == "True":
        return Condition(kind, TRUE, "FollowsDemand", "KEDA sets spec.engine.replicas")
    if said.get("status") == "False":
        hint = "is Prometheus reached, and does it scrape this model? docs/autoscaling.md has what it is asked"
        return Condition(kind, FALSE, said.get("reason") or "Failed", f"{said.get('message', '').rstrip('. ')}; {hint}")
    return Condition(kind, UNKNOWN, "Starting", "KEDA has not said anything yet: does it run?")
