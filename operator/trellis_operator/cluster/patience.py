"""Patience with objects that do not stay as they were applied: refused ones, and ones that others change back.

Never gives up, and never hammers. Pure but for the time that it is given.
"""

from dataclasses import dataclass

from trellis_operator.plan.observed import Ref
from trellis_operator.plan.plan import Action
from trellis_operator.status.refusal import Refusal

_FREE_TRIES = 3
_REFUSED_S, _REFUSED_MOST_S = 2.0, 60.0
_CONTESTED_S, _CONTESTED_MOST_S = 5.0, 300.0
_FORGIVEN_S = 900.0


@dataclass
class _Case:
    body: object
    reason: str
    tries: int = 0
    last: float = 0.0
    not_before: float = 0.0
    refusal: Refusal | None = None
    writer: str = ""


class Patience:
    """What was tried on the objects of one model."""

    def __init__(self) -> None:
        self._cases: dict[Ref, _Case] = {}

    def __repr__(self) -> str:
        return f"Patience({len(self._cases)} objects)"

    def allows(self, action: Action, now: float) -> bool:
        """Whether the action may be tried now; another wish than before may at once."""
        case = self._cases.get(action.target)
        return case is None or case.body != action.body or now >= case.not_before

    def contests(self, action: Action, now: float) -> bool:
        """Whether the action, if it is tried now, would be one too many for a mere repair."""
        case = self._cases.get(action.target)
        if case is None or case.body != action.body or case.refusal is not None:
            return False
        return case.tries >= _FREE_TRIES and now - case.last <= _FORGIVEN_S

    def tried(self, action: Action, now: float, refusal: Refusal | None, writer: str = "") -> None:
        """Remember how it went, and who else wrote the field, where that is known.

        What was tried long ago is forgotten: objects whose names carry a hash are other ones after each change.
        """
        self._cases = {target: each for target, each in self._cases.items() if now - each.last <= _FORGIVEN_S}
        case = self._cases.get(action.target)
        # Tries that nobody took are no fight, once one is taken.
        taken = case is not None and case.refusal is not None and refusal is None
        if case is None or taken or case.body != action.body:
            case = self._cases[action.target] = _Case(action.body, action.reason)
        case.tries, case.last, case.refusal, case.reason = case.tries + 1, now, refusal, action.reason
        case.writer = writer or case.writer
        case.not_before = now + _pause_s(case.tries, refused=refusal is not None)

    def refusals(self, open_targets: set[Ref]) -> list[Refusal]:
        """Of objects that are still not as wanted."""
        cases = (case for target, case in self._cases.items() if target in open_targets)
        return [case.refusal for case in cases if case.refusal is not None]

    def contested(self, now: float) -> list[str]:
        """Objects that others keep changing, a sentence each."""
        return [
            f"{' '.join(target)} is changed by {case.writer or 'someone else'} again and again ({case.reason}); it is "
            "put back ever less often. What to do: kubectl get -o yaml --show-managed-fields tells who writes it; stop "
            "them, or ask in the manifest for what they set."
            for target, case in self._cases.items()
            if case.refusal is None and case.tries > _FREE_TRIES and now - case.last < _FORGIVEN_S
        ]

    def next_try(self, now: float) -> float | None:
        """Seconds until something that is held back may be tried; None where nothing is."""
        waits = [case.not_before - now for case in self._cases.values() if case.not_before > now]
        return min(waits, default=None)


def _pause_s(tries: int, refused: bool) -> float:
    if refused:
        return min(_REFUSED_S * 2.0 ** min(tries - 1, 10), _REFUSED_MOST_S)
    if tries < _FREE_TRIES:
        return 0.0
    return min(_CONTESTED_S * 2.0 ** min(tries - _FREE_TRIES, 10), _CONTESTED_MOST_S)
