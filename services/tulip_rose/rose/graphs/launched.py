"""`FramedLaunched`: a step over static buffers on its way, and the one who takes its result out of its slot."""

from collections.abc import Callable
from threading import Lock

from tulip_rose.rose.errors import RoseError
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
        with self._lock:
            if self._outcome is None:
                try:
                    self._event.wait(timeout_s)
                    self._outcome = self._collect()
                except RoseError as error:
                    self._outcome = error
            return self._outcome
