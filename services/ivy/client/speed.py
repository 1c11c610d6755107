"""`Speed`: how long an engine takes for a token, smoothed over its last seconds. Knows no clock and no engine."""

import math

MEMORY_S = 3.0
"""Time constant: short, so that an engine that was slow once is asked again soon."""
LEAST_KNOWN = 0.1
"""Calls, counted down with time: with fewer than this nothing is known any more."""


class Speed:
    """Seconds and tokens of answered calls; both fade alike, so that their ratio is that of the last seconds."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._tokens = 0.0
        self._calls = 0.0
        self._at = 0.0

    def answered(self, tokens: int, seconds: float, now: float) -> None:
        """Take in an answer.

        Args:
            tokens: that the engine had to work off until this answer: those of the call and those before it.
            seconds: that it took.
            now: on any clock that always goes on.
        """
        kept = self._kept(now)
        self._seconds = self._seconds * kept + seconds
        self._tokens = self._tokens * kept + tokens
        self._calls = self._calls * kept + 1
        self._at = now

    def seconds_per_token(self, now: float) -> float | None:
        """The ratio; None where there was no answer lately."""
        if not self._tokens or self._calls * self._kept(now) < LEAST_KNOWN:
            return None
        return self._seconds / self._tokens

    def _kept(self, now: float) -> float:
        return math.exp(-max(now - self._at, 0.0) / MEMORY_S)
