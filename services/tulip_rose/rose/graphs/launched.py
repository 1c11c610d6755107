"""`FramedLaunched`: a step over static buffers on its way, and the one who takes its result out of its slot.

`Abandoned`: one that failed while it was put on the stream.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from time import monotonic

from tulip_rose.rose.errors import RoseError, StepError
from tulip_rose.rose.graphs.device import Event
from tulip_rose.rose.lazy import Part

Parts = tuple[Part, ...]


class FramedLaunched:
    """See `Launched`, and `Holder`. The result is kept, so that its slot can go to another step."""

    def __init__(self, event: Event, collect: Callable[[], Parts]) -> None:
        """`collect` copies the result into memory of its own, when the event is reached."""
        self._event, self._collect = event, collect
        self._outcome: Parts | RoseError | None = None
        self._lock = Lock()
        self.came = 0.0

    def reached(self) -> bool:
        """See `Launched`."""
        return self.done() or self._event.reached()

    def done(self) -> bool:
        """See `Holder`."""
        return self._outcome is not None

    def finish(self) -> None:
        """See `Holder`."""
        self._settle(None)

    def wait(self, timeout_s: float | None) -> Parts:
        """See `Launched`."""
        outcome = self._settle(timeout_s)
        if isinstance(outcome, RoseError):
            raise outcome
        return outcome

    def _settle(self, timeout_s: float | None) -> Parts | RoseError:
        if self._outcome is not None:
            return self._outcome
        failure = self._failure(timeout_s)
        came = monotonic()
        # Once the outcome is there the slot may be another step's: two who waited must not both read it.
        with self._lock:
            if self._outcome is None:
                self.came = came
                self._outcome = failure or self._collected()
            return self._outcome

    def _collected(self) -> Parts | RoseError:
        try:
            return self._collect()
        except Exception as error:
            return StepError(f"step failed: {type(error).__name__}: {error}")

    def _failure(self, timeout_s: float | None) -> RoseError | None:
        try:
            self._event.wait(timeout_s)
        except RoseError as error:
            return error
        return None


class Abandoned:
    """See `Holder`. There is no result, but the device may still read what was begun."""

    def __init__(self, event: Event) -> None:
        self._event = event

    def done(self) -> bool:
        """See `Holder`."""
        return self._event.reached()

    def finish(self) -> None:
        """See `Holder`."""
        # Its callers were told when it failed.
        with suppress(RoseError):
            self._event.wait(None)
