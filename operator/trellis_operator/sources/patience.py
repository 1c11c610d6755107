"""How long to wait, and when to try again. Never knows what is tried."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from trellis_operator.sources.failure import FetchError, Reason

Result = TypeVar("Result")
_MAX_PAUSE_S = 60.0


@dataclass(frozen=True)
class Patience:
    """When a fetch is given up.

    Attributes:
        deadline_s: for all of it.
        stall_s: without a byte, before a connection is dropped and made anew.
        attempts: in a row that bring nothing.
        first_pause_s: before the second attempt; doubled before each further one.
    """

    deadline_s: float
    stall_s: float
    attempts: int = 4
    first_pause_s: float = 1.0


class Deadline:
    """The end of a fetch."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    @property
    def left_s(self) -> float:
        """Seconds until the end; negative after it."""
        return self._end - self._clock()

    def check(self) -> None:
        """Raise DEADLINE_EXCEEDED when the time is over."""
        if self.left_s <= 0:
            raise FetchError(
                Reason.DEADLINE_EXCEEDED,
                f"not done within {self._seconds:g} s; what has arrived is kept, and the next try goes on from there",
            )


class Retries:
    """Tries again what may pass, with growing pauses; an attempt that brought something begins the count anew."""

    def __init__(
        self,
        patience: Patience,
        deadline: Deadline,
        on_failure: Callable[[FetchError, float], None],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._patience = patience
        self._deadline = deadline
        self._on_failure = on_failure
        self._sleep = sleep

    def call(self, action: Callable[[], Result], progress: Callable[[], int] = lambda: 0) -> Result:
        """Call `action` until it succeeds.

        Args:
            action: what is tried.
            progress: a number that grows when an attempt brings something.

        Raises:
            FetchError: of the last attempt.
        """
        failures = 0
        while True:
            before = progress()
            try:
                return action()
            except FetchError as error:
                failures = 1 if progress() > before else failures + 1
                pause_s = self._pause_s(error, failures)
                if not error.reason.passes or failures >= self._patience.attempts or pause_s > self._deadline.left_s:
                    raise
                self._on_failure(error, pause_s)
                self._sleep(pause_s)

    def _pause_s(self, error: FetchError, failures: int) -> float:
        own_s = min(_MAX_PAUSE_S, self._patience.first_pause_s * 2.0 ** (failures - 1))
        return max(own_s, error.retry_after_s or 0.0)
