"""An object that came out of the API server otherwise than it was applied. Pure.

A mutating webhook or policy of the cluster does that, or a CRD of another version. Applying it again would change
nothing and cost a write at each visit, so it is left alone and told; but not for ever, since whoever rewrites may stop.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trellis_operator.plan.observed import Ref

_LEFT_ALONE_S = 1200.0
"""Until it is applied again. Longer than patience remembers, which would take it for a fight."""


@dataclass(frozen=True)
class Rewritten:
    """What came of one apply.

    Attributes:
        fingerprint: of what was asked for and what came out.
        path: of the first field that is otherwise.
        managers: who else manages that field.
        at: when, in seconds.
    """

    fingerprint: str
    path: str
    managers: Sequence[str]
    at: float


def left_alone(known: Mapping[Ref, Rewritten], now: float) -> dict[Ref, str]:
    """The fingerprints of those that are not to be applied again yet."""
    return {target: each.fingerprint for target, each in known.items() if now - each.at < _LEFT_ALONE_S}


def told(target: Ref, what: Rewritten) -> str:
    """A sentence that names the object, the field and who has a hand in it, and one that says what to do."""
    others = f" {', '.join(what.managers)} has a hand in it." if what.managers else ""
    return (
        f"{' '.join(target)} was taken, but {what.path} is not as it was applied: a mutating webhook or an admission "
        f"policy of this cluster sets it, or the CRD of that kind is of another version.{others} It is left like that. "
        "What to do: see kubectl get mutatingwebhookconfigurations and ask who runs them to spare objects with the "
        "label app.kubernetes.io/managed-by=trellis, or ask in the manifest for what they set."
    )
