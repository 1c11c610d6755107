"""The fence around writes: a deadline after which this process may no longer change anything.

Whoever holds the Lease moves the deadline on. Each write looks at it right before it is sent, so that a process that
was stopped or cut off for longer than its Lease, and wakes up beside a new leader, writes nothing.
"""

import time

from trellis_operator.errors import OperatorError


class FencedError(OperatorError):
    """A write was not sent, since this process may not be the leader any more."""


def now_s() -> float:
    """Seconds on a clock that also runs while the machine sleeps, where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Fence:
    """Open until a deadline."""

    def __init__(self, deadline_s: float = 0.0) -> None:
        self._deadline_s = deadline_s

    @classmethod
    def always_open(cls) -> "Fence":
        """For a single operator, which nobody takes over from."""
        return cls(float("inf"))

    def open_until(self, deadline_s: float) -> None:
        """Move the deadline, in seconds of `now_s`."""
        self._deadline_s = deadline_s

    def left_s(self) -> float:
        """Seconds in which a write may still be sent; 0 or less is none."""
        return self._deadline_s - now_s()

    def check(self) -> None:
        """Let a write through.

        Raises:
            FencedError: the deadline has passed.
        """
        if self.left_s() <= 0:
            raise FencedError("no longer the leader: nothing is written")
