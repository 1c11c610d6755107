"""`Queue`: the scheduler between two threads. gRPC's side submits and drops, the engine's side takes and settles.

Knows neither asyncio nor gRPC: results leave through `deliver`, which must be callable from any thread.
"""

import threading
import time
from collections.abc import Callable
from collections.abc import Sequence as Run

from tulip_rose.sequence import Embedded, Sequence
from tulip_rose.tulip.errors import NotServing
from tulip_rose.tulip.metrics import Metrics
from tulip_rose.tulip.scheduler import Pick, Scheduler


class Queue:
    """A `rose.loop.Source` that is bounded, first come first served, and can be closed."""

    def __init__(
        self,
        scheduler: Scheduler,
        deliver: Callable[[list[Sequence]], None],
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._scheduler = scheduler
        self._deliver = deliver
        self._metrics = metrics
        self._clock = clock
        self._changed = threading.Condition(threading.Lock())
        self._closed: str | None = None
        metrics.watch_queue(
            most=scheduler.max_queued_tokens,
            in_a_batch=scheduler.max_batch_tokens,
            tokens=lambda: scheduler.queued_tokens,
            sequences=lambda: len(scheduler),
            in_flight=lambda: scheduler.in_flight_tokens,
        )

    def __repr__(self) -> str:
        return f"Queue({self._scheduler!r}, closed={self._closed!r})"

    @property
    def outstanding_tokens(self) -> int:
        """Tokens waiting or under way; may be a moment old."""
        return self._scheduler.outstanding_tokens

    def submit(self, sequences: Run[Sequence]) -> None:
        """Put a whole call in the queue, or nothing of it.

        Raises:
            NotServing: the queue is closed.
            QueueFull, BadCall: see `Scheduler.submit`.
        """
        with self._changed:
            if self._closed is not None:
                raise NotServing(self._closed)
            self._scheduler.submit(sequences)
            self._changed.notify()

    def drop(self, sequences: Run[Sequence], outcome: Exception) -> int:
        """Take those that the device has not begun off the queue; returns how many. Nothing of them is delivered."""
        with self._changed:
            return len(self._scheduler.drop(sequences, outcome))

    def close(self, reason: str) -> None:
        """Refuse what comes from now on with `reason`; what waits is still taken."""
        with self._changed:
            self._closed = reason
            self._changed.notify_all()

    def fail(self, outcome: Exception) -> None:
        """Deliver this outcome for everything that waits: nobody will take it any more."""
        with self._changed:
            dropped = self._scheduler.drop_all(outcome)
        if dropped:
            self._deliver(dropped)

    def take(self, block: bool) -> list[Sequence] | None:
        """Take the next batch.

        Args:
            block: wait until there is one. The wait has no deadline: an idle engine has nothing else to do, and
                `close` ends it.

        Returns:
            The batch; an empty list when nothing waits and `block` is false; None when closed and empty.
        """
        while True:
            with self._changed:
                while block and self._idle():
                    self._changed.wait()
                pick = self._scheduler.take(self._clock())
                ended = self._closed is not None and not pick.batch
            self._report(pick)
            if pick.batch:
                return pick.batch
            if ended:
                return None
            if not block:
                return []

    def settled(self, sequences: list[Sequence]) -> None:
        """Hand a batch back, each sequence with its outcome."""
        with self._changed:
            tokens = self._scheduler.settle(sequences)
        self._deliver(sequences)
        self._measure(tokens, sequences[0])

    def _idle(self) -> bool:
        return not len(self._scheduler) and self._closed is None

    def _measure(self, tokens: int, first: Sequence) -> None:
        """One sequence speaks for its batch: all of it came back together."""
        outcome = first.outcome
        if isinstance(outcome, Embedded):
            self._metrics.stepped(tokens, outcome.step)
        else:
            self._metrics.step_failures.inc()

    def _report(self, pick: Pick) -> None:
        if pick.batch:
            self._metrics.launched(len(pick.batch), pick.tokens)
        if pick.expired:
            self._deliver(pick.expired)
