"""EngineAvailable and GatewayAvailable: whether somebody serves."""

from trellis_operator.desired import names
from trellis_operator.source import can_change
from trellis_operator.status.condition import FALSE, TRUE, Condition
from trellis_operator.status.trouble import trouble
from trellis_operator.status.view import View, count


def engine_available(view: View) -> Condition:
    """Whether an engine is ready."""
    ready = count(view.engine, "readyReplicas")
    return _available(view, "EngineAvailable", names.ENGINE, ready, view.model.engine.replicas)


def gateway_available(view: View) -> Condition:
    """Whether a gateway is ready, which is one that has an engine to ask."""
    ready = count(view.gateway, "readyReplicas")
    return _available(view, "GatewayAvailable", names.GATEWAY, ready, view.model.gateway.replicas)


def _available(view: View, kind: str, component: str, ready: int, wanted: int) -> Condition:
    if view.model.suspended:
        return Condition(kind, FALSE, "Suspended", "spec.suspend is true: no pod is asked for")
    if not wanted:
        return Condition(kind, FALSE, "ScaledToZero", f"spec.{component}.replicas is 0")
    if ready >= wanted:
        return Condition(kind, TRUE, "AllReady", f"{ready} of {wanted} {component}s are ready")
    found = trouble(view, component)
    if ready:
        why = f": {found[1]}" if found else ""
        return Condition(kind, TRUE, "SomeReady", f"{ready} of {wanted} {component}s are ready{why}")
    reason, message = found or ("Starting", f"no {component} is ready yet{_perhaps(view, component)}")
    return Condition(kind, FALSE, reason, message)


def _perhaps(view: View, component: str) -> str:
    """Why gateways may wait for ever beside engines that are ready; only they themselves know."""
    if component == names.ENGINE or not (can_change(view.model.model.source) and count(view.engine, "readyReplicas")):
        return ""
    return (
        ": if that stays, the source has changed since engines read it. What to do: write another text into the "
        "annotation trellis.dev/restart, which makes all pods anew"
    )
