"""Ready and Accepted: whether the URL answers, and whether the manifest was taken as it stands."""

from collections.abc import Sequence

from trellis_operator.desired import names
from trellis_operator.status.condition import FALSE, TRUE, Condition
from trellis_operator.status.view import View


def accepted(view: View) -> Condition:
    """Whether all that the manifest asks for could be asked of the cluster."""
    kind = "Accepted"
    if view.refusals:
        more = f" ({len(view.refusals) - 1} more like it)" if len(view.refusals) > 1 else ""
        return Condition(kind, FALSE, view.refusals[0].reason, view.refusals[0].message + more)
    if view.missing_secrets:
        named = ", ".join(view.missing_secrets)
        return Condition(kind, FALSE, "SecretNotFound", f"no Secret {named} in this namespace: make it")
    if view.source_lacks:
        return Condition(kind, FALSE, *view.source_lacks)
    if view.missing_kinds:
        named = ", ".join(view.missing_kinds)
        message = (
            f"this API server does not know the kind {named}, or does not let the operator list it: install its CRDs, "
            "or the chart's roles of this version, or take it out of the manifest"
        )
        return Condition(kind, FALSE, "KindNotServed", message)
    return Condition(kind, TRUE, "Valid", "the manifest is understood and its objects are applied")


def ready(view: View, needs: Sequence[Condition]) -> Condition:
    """Whether the URL answers: no condition of `needs`, in this order, may be missing."""
    if view.model.suspended:
        return Condition("Ready", FALSE, "Suspended", "spec.suspend is true: no pod is asked for")
    lacking = next((each for each in needs if not each.holds), None)
    if lacking is not None:
        return Condition("Ready", FALSE, lacking.reason, lacking.message)
    if view.asleep:
        message = f"no engine runs; a request brings one back, and waits up to {view.model.gateway.hold_s} s for it"
        return Condition("Ready", TRUE, "Asleep", message)
    return Condition("Ready", TRUE, "Serving", f"{names.url(view.model)}/v1/embeddings answers")
