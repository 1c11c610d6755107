"""`Call`: one Embed on its way, and `Calls`: all of them. Lives on the event loop's thread alone.

Knows neither the wire nor the device: it brings the outcomes of sequences back to the caller that waits for them.
"""

import asyncio
import time
from collections.abc import Sequence as Run

from tulip_rose.sequence import Embedded, Sequence
from tulip_rose.tulip.errors import Cancelled, DeadlinePassed
from tulip_rose.tulip.metrics import Metrics
from tulip_rose.tulip.queue import Queue

_CLOCK_SLACK_S = 0.05
"""A caller hangs up when its own clock says so, which is a moment before the deadline that was sent here."""


class Call:
    """The sequences of one Embed, and a future that is done when all have vectors or one has failed."""

    __slots__ = ("_pending", "done", "sequences")

    def __init__(self, sequences: Run[Sequence]) -> None:
        self.sequences = sequences
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pending = len(sequences)

    def __repr__(self) -> str:
        return f"Call({self._pending} of {len(self.sequences)} sequences pending)"

    def settle(self, outcome: Embedded | Exception | None) -> None:
        """One sequence of this call has its outcome."""
        self._pending -= 1
        if self.done.done():
            return
        if isinstance(outcome, Exception):
            self.done.set_exception(outcome)
        elif not self._pending:
            self.done.set_result(None)


class Calls:
    """The calls under way, found by their sequences."""

    def __init__(self, queue: Queue, metrics: Metrics) -> None:
        self._queue = queue
        self._metrics = metrics
        self._of: dict[Sequence, Call] = {}
        self._under_way = 0
        self._none_under_way = asyncio.Event()
        self._none_under_way.set()

    def __repr__(self) -> str:
        return f"Calls({self._under_way} under way, {len(self._of)} sequences pending)"

    async def run(self, sequences: Run[Sequence], timeout_s: float) -> None:
        """Wait until every sequence has its vectors; what the device has not begun leaves with the caller.

        Raises:
            CallError: not admitted, or the deadline passed.
            RoseError: the engine failed on a batch that had a sequence of this call.
        """
        self._queue.submit(sequences)
        call = self._begin(sequences)
        try:
            async with asyncio.timeout(timeout_s):
                await call.done
        except TimeoutError:
            raise self._abandon(call, DeadlinePassed("the deadline passed before every text had its vector")) from None
        except asyncio.CancelledError:
            self._abandon(call, self._reason(call))
            raise
        except Exception as failure:
            self._abandon(call, failure)
            raise
        finally:
            self._end()

    async def all_answered(self, timeout_s: float) -> bool:
        """Wait until no call is under way; False when the time was up first."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._none_under_way.wait()
        except TimeoutError:
            return False
        return True

    def settle(self, sequences: Run[Sequence]) -> None:
        """Give outcomes to the calls that wait for them; a call that is gone is passed over."""
        self._metrics.settled(sequences)
        for sequence in sequences:
            call = self._of.pop(sequence, None)
            if call is not None:
                call.settle(sequence.outcome)

    def _begin(self, sequences: Run[Sequence]) -> Call:
        call = Call(sequences)
        self._of.update((sequence, call) for sequence in sequences)
        self._under_way += 1
        self._none_under_way.clear()
        return call

    def _end(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._none_under_way.set()

    def _abandon(self, call: Call, outcome: Exception) -> Exception:
        dropped = self._queue.drop(call.sequences, outcome)
        self._metrics.dropped(outcome, dropped)
        for sequence in call.sequences:
            self._of.pop(sequence, None)
        return outcome

    def _reason(self, call: Call) -> Exception:
        """A call whose deadline passed is cancelled just as one whose caller left; the clock tells them apart."""
        if time.monotonic() + _CLOCK_SLACK_S >= call.sequences[0].deadline:
            return DeadlinePassed("the deadline passed while the text waited")
        return Cancelled("the caller went away")
