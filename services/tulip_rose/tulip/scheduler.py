"""`Scheduler`: first come, first served within a priority, in batches of a token budget, bounded in tokens.

Pure: no threads, no clock (the time is an argument), no network. Every operation costs a constant a sequence,
and the logarithm of the number of priorities that wait.
"""

from collections.abc import Iterable
from collections.abc import Sequence as Run
from dataclasses import dataclass, field

from tulip_rose.sequence import Sequence
from tulip_rose.tulip.errors import BadCall, DeadlinePassed, QueueFull
from tulip_rose.tulip.lines import Lines


@dataclass(slots=True)
class Pick:
    """What one look at the queue yields."""

    batch: list[Sequence] = field(default_factory=list)
    """The next batch, in the order in which they are served; it counts as in flight from now on."""
    tokens: int = 0
    """Tokens of the batch."""
    expired: list[Sequence] = field(default_factory=list)
    """Sequences whose deadline passed while they waited; their outcome is set."""


class Scheduler:
    """Decides which sequences are the next batch."""

    def __init__(self, max_batch_tokens: int, max_queued_tokens: int) -> None:
        """Limits in tokens: of one batch, and of everything that waits (in flight not counted)."""
        self.max_batch_tokens = max_batch_tokens
        self.max_queued_tokens = max_queued_tokens
        self.queued_tokens = 0
        self.in_flight_tokens = 0
        self._waiting = Lines()

    def __repr__(self) -> str:
        return (
            f"Scheduler({len(self)} sequences of {self.queued_tokens} tokens wait, {self.in_flight_tokens} in flight)"
        )

    def __len__(self) -> int:
        """Sequences that wait."""
        return len(self._waiting)

    @property
    def outstanding_tokens(self) -> int:
        """Tokens waiting or under way."""
        return self.queued_tokens + self.in_flight_tokens

    def submit(self, sequences: Run[Sequence]) -> None:
        """Put a whole call at the end of its line, or nothing of it.

        Raises:
            QueueFull: there is no room now.
            BadCall: there is never room, not even in an empty queue; a retry would loop for ever.
        """
        tokens = sum(sequence.tokens for sequence in sequences)
        if tokens > self.max_queued_tokens:
            raise BadCall(
                f"a call of {tokens} tokens is larger than the whole queue of {self.max_queued_tokens} tokens"
            )
        if self.queued_tokens + tokens > self.max_queued_tokens:
            raise QueueFull(tokens, self.queued_tokens, self.max_queued_tokens)
        for sequence in sequences:
            self._waiting.add(sequence)
        self.queued_tokens += tokens

    def take(self, now: float) -> Pick:
        """Take the next batch off the queue, and with it the expired that stood before its end.

        The order is never broken to fill a batch better: a long text that waits behind short ones is not overtaken.
        A sequence above the budget goes alone.
        """
        pick = Pick()
        while (head := self._waiting.first()) is not None:
            if head.deadline <= now:
                self._leave(head)
                head.outcome = DeadlinePassed("the deadline passed while the text waited")
                pick.expired.append(head)
                continue
            tokens = head.tokens
            if pick.batch and pick.tokens + tokens > self.max_batch_tokens:
                break
            self._waiting.remove(head)
            pick.batch.append(head)
            pick.tokens += tokens
        self.queued_tokens -= pick.tokens
        self.in_flight_tokens += pick.tokens
        return pick

    def drop(self, sequences: Iterable[Sequence], outcome: Exception) -> list[Sequence]:
        """Take those of the sequences that still wait off the queue, with this outcome.

        Returns:
            The dropped; the others are in flight or settled, and stay as they are.
        """
        dropped = [sequence for sequence in sequences if sequence in self._waiting]
        for sequence in dropped:
            self._leave(sequence)
            sequence.outcome = outcome
        return dropped

    def drop_all(self, outcome: Exception) -> list[Sequence]:
        """Empty the queue; returns the dropped."""
        return self.drop(list(self._waiting), outcome)

    def settle(self, sequences: Iterable[Sequence]) -> int:
        """A batch came back from the device, whatever became of it; returns its tokens."""
        tokens = sum([sequence.tokens for sequence in sequences])
        self.in_flight_tokens -= tokens
        return tokens

    def _leave(self, sequence: Sequence) -> None:
        self._waiting.remove(sequence)
        self.queued_tokens -= sequence.tokens
