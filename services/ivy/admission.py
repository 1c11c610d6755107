"""`Admission`: who is let in. Bounds the tokens and the bytes of requests under way; knows no HTTP and no text.

One rule for one input and for thousands: a request is let in when what is under way and what it brings fit into the
bound, or when nothing is under way. So a batch that is larger than the whole bound can still be served, alone.
The tokens are an estimate at first; when the real count is known it takes the estimate's place, and nobody who was let
in is sent away for it.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ivy.errors import Overloaded
from ivy.metrics import Metrics

_MEMORY_S = 10.0
"""How far back the drain rate looks, as a time constant."""
_SHORTEST_S, _LONGEST_S = 0.05, 10.0
_UNKNOWN_S = 1.0
_SHARE = 0.1
"""Of the bound that should be free when a caller comes back: who comes back for the first free token is one of many."""


class DrainRate:
    """Tokens a second that requests leave with, as an exponential average over the time in which there was work.

    A pause says nothing about how fast work leaves, so it does not count.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tokens = 0.0
        self._seconds = 0.0
        self._since = clock()

    def began(self) -> None:
        """There is work again: time counts from now on."""
        self._since = self._clock()

    def left(self, tokens: int) -> None:
        """A request was answered."""
        self._decay()
        self._tokens += tokens

    def per_second(self) -> float:
        """The rate now; 0 where nothing has left yet."""
        self._decay()
        return self._tokens / self._seconds if self._seconds else 0.0

    def _decay(self) -> None:
        now = self._clock()
        passed = now - self._since
        self._since = now
        kept = math.exp(-passed / _MEMORY_S)
        self._tokens *= kept
        self._seconds = self._seconds * kept + _MEMORY_S * (1 - kept)


class Lease:
    """The tokens of one request, for as long as it is under way."""

    def __init__(self, tokens: int, changed: Callable[[int], None]) -> None:
        self.tokens = tokens
        self._changed = changed

    def settle(self, tokens: int) -> None:
        """Put the real count in place of the estimate."""
        self._changed(tokens - self.tokens)
        self.tokens = tokens


class Admission:
    """Tokens and bytes under way, and their bounds."""

    def __init__(self, max_bytes: int, metrics: Metrics, clock: Callable[[], float]) -> None:
        self._max_bytes = max_bytes
        self._metrics = metrics
        self._rate = DrainRate(clock)
        self.tokens = 0
        self.bytes = 0
        metrics.in_flight_tokens.set_function(lambda: float(self.tokens))
        metrics.in_flight_bytes.set_function(lambda: float(self.bytes))

    @contextmanager
    def lease(self, tokens: int, bound: int) -> Iterator[Lease]:
        """Let a request in that brings about `tokens`; its tokens are given back at the end of the block.

        Raises:
            Overloaded: it does not fit into `bound`; says when it is worth to come again.
        """
        if self.tokens and self.tokens + tokens > bound:
            self._metrics.rejections["tokens"].inc()
            raise Overloaded(
                f"{self.tokens} tokens are under way, about {tokens} more do not fit into {bound}",
                retry_after_s=self._retry_after_s(self.tokens + tokens - bound, bound),
            )
        self._add_tokens(tokens)
        lease = Lease(tokens, self._add_tokens)
        try:
            yield lease
            self._rate.left(lease.tokens)
        finally:
            self._add_tokens(-lease.tokens)

    @contextmanager
    def body(self) -> Iterator[Callable[[int], None]]:
        """Hold the bytes of one body until the end of the block.

        Yields:
            A function that takes room for so many bytes more, and raises Overloaded where there is none.
        """
        held = 0

        def take(count: int) -> None:
            nonlocal held
            if self.bytes > held and self.bytes + count > self._max_bytes:
                self._metrics.rejections["bytes"].inc()
                raise Overloaded("too many large bodies are under way", retry_after_s=_UNKNOWN_S)
            held += count
            self.bytes += count

        try:
            yield take
        finally:
            self.bytes -= held

    def _add_tokens(self, count: int) -> None:
        if not self.tokens:
            self._rate.began()
        self.tokens += count

    def _retry_after_s(self, missing: int, bound: int) -> float:
        rate = self._rate.per_second()
        if rate <= 0:
            return _UNKNOWN_S
        return min(max(max(missing, bound * _SHARE) / rate, _SHORTEST_S), _LONGEST_S)
