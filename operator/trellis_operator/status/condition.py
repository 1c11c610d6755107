"""One condition of a status, and how new ones follow old ones."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"
_MESSAGE_CHARACTERS = 1024
_HINT = " What to do: "


@dataclass(frozen=True)
class Condition:
    """What holds, or does not.

    Attributes:
        type: e.g. Ready.
        status: True, False or Unknown.
        reason: one word.
        message: for people: what is, and what to do about it.
    """

    type: str
    status: str
    reason: str
    message: str

    @property
    def holds(self) -> bool:
        """Whether its status is True."""
        return self.status == TRUE


def written(
    conditions: Iterable[Condition], before: Sequence[Mapping[str, Any]], generation: int, now: str
) -> list[dict[str, Any]]:
    """The conditions as a status has them; a time of transition stays where the status has not changed."""
    old = {each["type"]: each for each in before}
    return [_written(each, old.get(each.type, {}), generation, now) for each in conditions]


def changed(conditions: Iterable[Condition], before: Sequence[Mapping[str, Any]]) -> list[Condition]:
    """Those that say something else than before: another status or another reason."""
    old = {each["type"]: (each["status"], each["reason"]) for each in before}
    return [each for each in conditions if old.get(each.type) != (each.status, each.reason)]


def fitted(message: str, most: int) -> str:
    """The message in at most so many characters: what it tells gives way, and what to do about it stays."""
    if len(message) <= most:
        return message
    told, mark, hint = message.rpartition(_HINT)
    room = most - len(mark + hint) - 1
    return f"{told[:room]}…{mark}{hint}" if mark and room > 0 else message[: most - 1] + "…"


def _written(condition: Condition, old: Mapping[str, Any], generation: int, now: str) -> dict[str, Any]:
    same = old.get("status") == condition.status
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason or "Unknown",
        "message": fitted(condition.message, _MESSAGE_CHARACTERS),
        "observedGeneration": generation,
        "lastTransitionTime": old["lastTransitionTime"] if same else now,
    }
