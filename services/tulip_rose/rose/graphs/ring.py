"""`Ring`: slots of host memory that steps take in turn. Knows neither torch nor what a slot holds.

The source of a copy to the device is read when the copy is executed, not when it is asked for, and a result is written
when the step is done. So a slot belongs to its step until its event, and until the result was taken out of it; whoever
takes the slot next waits for that.
"""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar


class Holder(Protocol):
    """The step that a slot belongs to."""

    def done(self) -> bool:
        """Whether the result was taken out of the slot, or there will be none."""

    def finish(self) -> None:
        """Wait for the step and take its result out; a failure is kept for those who ask for the result."""


S = TypeVar("S")


class Ring(Generic[S]):
    """Taken by one thread."""

    def __init__(self, slots: Sequence[S]) -> None:
        """Take at least as many slots as there are steps in flight, and one more, so that taking one never waits."""
        self.slots = slots
        self._holders: list[Holder | None] = [None] * len(slots)
        self._next = 0
        self.waits = 0
        """How often a slot was taken before its step was settled."""

    def take(self) -> S:
        """The next slot, when the step that had it is over; hand it over with `hold`, or take it again."""
        holder = self._holders[self._next]
        if holder is not None and not holder.done():
            self.waits += 1
            holder.finish()
        self._holders[self._next] = None
        return self.slots[self._next]

    def hold(self, holder: Holder) -> None:
        """The slot that was taken last belongs to this step from now on."""
        self._holders[self._next] = holder
        self._next = (self._next + 1) % len(self.slots)

    @property
    def idle(self) -> bool:
        """Whether no step is in flight."""
        return all([holder is None or holder.done() for holder in self._holders])  # noqa: C419 (a list is faster)
