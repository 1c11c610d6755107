"""`RetryBudget`: how many calls may be asked again. Keeps a failing set of engines from being asked twice as much."""

RESERVE = 256.0
"""Retries that are always saved up: an engine that dies takes all of its calls with it at once, and each of them
deserves its second try."""


class RetryBudget:
    """Every call pays in a part of a retry, every retry takes a whole one."""

    def __init__(self, percent: float) -> None:
        self._part = percent / 100
        self._balance = RESERVE if percent else 0.0

    def paid(self) -> None:
        """A call was made."""
        self._balance = min(self._balance + self._part, RESERVE)

    def take(self) -> bool:
        """Take a retry, if there is one."""
        if self._balance < 1:
            return False
        self._balance -= 1
        return True
