"""`Capacity`: tokens a second that the device does while it is busy. Pure; knows no clock, no queue and no metric."""

import math

_MEMORY_S = 30.0
"""How far back it looks, in seconds of work, as a time constant."""


class Capacity:
    """An exponential average over busy time. An idle device forgets nothing: a pause says nothing about its speed."""

    def __init__(self) -> None:
        self._tokens = 0.0
        self._seconds = 0.0

    def settled(self, tokens: int, busy_s: float) -> None:
        """A batch of so many tokens has kept the device busy for so long."""
        kept = math.exp(-busy_s / _MEMORY_S)
        self._tokens = self._tokens * kept + tokens
        self._seconds = self._seconds * kept + busy_s

    def tokens_per_second(self) -> float:
        """The speed; 0 before the first batch."""
        return self._tokens / self._seconds if self._seconds else 0.0
