"""The engine thread: take a batch, launch it, then settle the one before; at most two in flight.

It dispatches at once when idle, and what arrives while the device is busy is the next batch: there is no timed window.
A result that is there already is handed out before anything else is begun.
Knows no queue policy: what to take next is the source's decision.
"""

import logging
import threading
import time
from collections import deque
from typing import NamedTuple, Protocol

from tulip_rose.rose.batch import Batch
from tulip_rose.rose.errors import EngineDeadError, StepError, TooLargeError
from tulip_rose.rose.lazy import LazyTensor, Rows
from tulip_rose.sequence import Embedded, Sequence, StepTimes

_IN_FLIGHT = 2

log = logging.getLogger(__name__)


class Source(Protocol):
    """Where sequences come from and go to. Both calls come from the engine thread."""

    def take(self, block: bool) -> list[Sequence] | None:
        """The next batch; empty when nothing waits and `block` is off; None when closed and empty."""

    def settled(self, sequences: list[Sequence]) -> None:
        """A batch whose sequences all have an outcome."""


class Steps(Protocol):
    """The one thing that the loop needs of an engine."""

    def step(self, batch: Batch) -> LazyTensor:
        """Launch one forward pass."""


class _Flight(NamedTuple):
    sequences: list[Sequence]
    result: LazyTensor
    taken: float
    packed: float


class EngineLoop:
    """Owns an engine. `failure` is set when it cannot go on; by then every sequence in flight has its outcome."""

    def __init__(self, engine: Steps, source: Source) -> None:
        self.failure: BaseException | None = None
        self._engine = engine
        self._source = source
        self._flights: deque[_Flight] = deque()
        self._busy_since: float | None = None
        self._settled_at = 0.0
        self._thread = threading.Thread(target=self.run, name="rose-engine", daemon=True)

    def start(self) -> None:
        """Start the thread; call once."""
        self._thread.start()

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread to end, after the source was closed; False when it did not in time."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def stuck_s(self, now: float) -> float:
        """Seconds, at `time.monotonic()` `now`, that the step under way has run; 0.0 when idle."""
        since = self._busy_since
        return 0.0 if since is None else max(0.0, now - since)

    def run(self) -> None:
        """Work on the calling thread until the source is closed and empty, or the engine cannot go on."""
        try:
            while (sequences := self._source.take(not self._flights)) is not None:
                if sequences:
                    self._launch(sequences)
                if self._flights and (not sequences or self._full() or self._flights[0].result.ready()):
                    self._settle(self._flights.popleft())
            while self._flights:
                self._settle(self._flights.popleft())
        except BaseException as error:
            self._die(error)

    def _full(self) -> bool:
        return len(self._flights) == _IN_FLIGHT

    def _launch(self, sequences: list[Sequence]) -> None:
        now = time.monotonic()
        self._busy_since = self._busy_since or now
        try:
            batch = Batch.pack(sequences)
            packed = time.monotonic()
            result = self._engine.step(batch)
        except EngineDeadError as error:
            self._fail(sequences, error)
            raise
        except TooLargeError as error:
            self._halve(sequences, error)
            return
        except Exception as error:
            log.exception("a step of %d sequences could not be launched", len(sequences))
            self._fail(sequences, StepError(f"step not launched: {type(error).__name__}: {error}"))
            return
        self._flights.append(_Flight(sequences, result, now, packed))

    def _halve(self, sequences: list[Sequence], error: TooLargeError) -> None:
        """Launch both halves of a batch that had no room, one after the other."""
        if len(sequences) == 1:
            self._fail(sequences, error)
            return
        middle = len(sequences) // 2
        left = [sequences[:middle], sequences[middle:]]
        try:
            while left:
                if self._full():
                    self._settle(self._flights.popleft())
                self._launch(left.pop(0))
        except BaseException as gone:
            for half in left:
                self._fail(half, gone)
            raise

    def _settle(self, flight: _Flight) -> None:
        try:
            rows = flight.result.wait()
        except StepError as error:
            log.exception("a step of %d sequences failed", len(flight.sequences))
            self._fail(flight.sequences, error)
            return
        except BaseException as error:
            self._fail(flight.sequences, error)
            raise
        self._deliver(flight, rows)

    def _deliver(self, flight: _Flight, rows: Rows) -> None:
        came = flight.result.came
        began = min(came, max(flight.packed, self._settled_at))
        step = StepTimes(flight.taken, flight.packed, began, came, time.monotonic())
        outcome = Embedded(rows, step)
        for place, sequence in enumerate(flight.sequences):
            sequence.place, sequence.outcome = place, outcome
        self._done(flight.sequences, came)

    def _fail(self, sequences: list[Sequence], error: BaseException) -> None:
        outcome = error if isinstance(error, Exception) else EngineDeadError(f"engine ended by {type(error).__name__}")
        for sequence in sequences:
            sequence.outcome = outcome
        self._done(sequences, time.monotonic())

    def _done(self, sequences: list[Sequence], now: float) -> None:
        self._settled_at = now
        self._busy_since = now if self._flights else None
        self._source.settled(sequences)

    def _die(self, error: BaseException) -> None:
        log.critical("the engine cannot go on: %s: %s", type(error).__name__, error)
        self.failure = error
        dead = EngineDeadError(f"the engine cannot go on: {type(error).__name__}: {error}")
        while self._flights:
            self._fail(self._flights.popleft().sequences, dead)
