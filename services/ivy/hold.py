"""`Hold`: requests that wait while there is no engine, so that a model that is scaled to zero wakes for them.

Bounded in requests, in tokens and in time. What waits is shown as a metric, which is what an autoscaler sees: whoever
scales from zero must count what waits here, since nothing else says that anybody asks. Knows no HTTP and no text.
"""

import asyncio
import time
from collections.abc import Callable

import grpc
from trellis_wire.v1 import embedding_pb2 as pb

from ivy.client.card import Card
from ivy.client.engines import LOST, Engines
from ivy.client.target import Standing
from ivy.config import Config
from ivy.door import RETRY_UNKNOWN_S, code_of
from ivy.errors import NoEngine, Overloaded
from ivy.metrics import Held, Metrics
from ivy.timing import Metadata, Timing

MOST_REQUESTS = 1024
"""Held at once: each has a connection of its own."""
RETRY_STARTING_S = 5.0
"""For a caller whose wait was in vain: an engine that starts takes its time."""
ECHO_S = 60.0
"""For so long a request that left without an answer still counts as waiting: one that comes and goes between two
scrapes would never wake anybody."""


class Hold:
    """Lets requests wait for an engine. Without a time to wait it lets none wait, and only says that there is none."""

    def __init__(
        self, config: Config, engines: Engines, metrics: Metrics, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = config.hold_s
        self._most_tokens = config.max_held_tokens
        self._engines = engines
        self._metrics = metrics
        self._clock = clock
        self._open = True
        self._tokens = 0
        self._waiters: set[asyncio.Future[None]] = set()
        self._echo_tokens, self._echo_until = 0, 0.0
        metrics.held_tokens.set_function(self.shown_tokens)
        metrics.asleep.set_function(lambda: float(self.takes() and not engines.cards() and not self.shown_tokens()))
        metrics.held_requests.set_function(lambda: float(len(self._waiters)))
        engines.on_change(self._look)

    def takes(self) -> bool:
        """Whether a request that comes now waits for an engine, and none is there that serves something else.

        While engines of another model serve, their own gateways answer better than this one, which would let wait.
        """
        others = any(each.standing is Standing.READY for each in self._engines.endpoints)
        return bool(self._seconds) and self._open and self._engines.is_told and not others

    def shown_tokens(self) -> float:
        """Tokens that wait, or that left lately without an answer."""
        echo = self._echo_tokens if self._clock() < self._echo_until else 0
        return float(max(self._tokens, echo))

    def close(self) -> None:
        """Let nobody wait any more: this gateway stops."""
        self._open = False
        self._wake()

    async def cards(self, about: Callable[[], int], timing: Timing, deadline: float) -> list[Card]:
        """The cards of the engines that may be asked; where there are none, those of the first that comes.

        Args:
            about: about how many tokens the request has; asked only where it must wait.
            timing: is told how long it waited.
            deadline: of the request, on the clock.

        Raises:
            NoEngine: there is none, and none came in time.
            Overloaded: too much waits already.
        """
        if cards := self._engines.cards():
            return cards
        if not self._seconds or not self._open:
            raise NoEngine("no engine is ready to answer", retry_after_s=RETRY_UNKNOWN_S)
        tokens = max(about(), 1)
        self._check_room(tokens)
        outcome, began = Held.LEFT, time.perf_counter()
        self._tokens += tokens
        try:
            outcome, cards = await self._wait(min(self._clock() + self._seconds, deadline))
        finally:
            self._tokens -= tokens
            timing.held(began)
            self._metrics.holds[outcome].inc()
            if outcome is not Held.SERVED:
                self._echo_tokens, self._echo_until = tokens, self._clock() + ECHO_S
        if not cards:
            raise NoEngine("no engine has become ready in time", retry_after_s=RETRY_STARTING_S)
        return cards

    async def embed(
        self, request: pb.EmbedRequest, tokens: int, timeout_s: float, timing: Timing, metadata: Metadata = ()
    ) -> pb.EmbedResponse:
        """Embed one chunk, as `Engines` does; once more if the last engine went while it was asked, and another comes.

        `timing` is told how long it waited for that.

        Raises:
            NoEngine, Overloaded, grpc.RpcError: see `Engines.embed` and `cards`.
        """
        deadline = self._clock() + timeout_s
        try:
            return await self._engines.embed(request, tokens, timeout_s, metadata)
        except (NoEngine, grpc.RpcError) as error:
            is_gone = isinstance(error, NoEngine) or code_of(error) in LOST
            if not (is_gone and self._seconds and self._open) or self._engines.cards():
                raise
        await self.cards(lambda: tokens, timing, deadline)
        return await self._engines.embed(request, tokens, max(deadline - self._clock(), 0.0), metadata)

    async def _wait(self, until: float) -> tuple[Held, list[Card]]:
        """Wait for an engine, to the end of the time or of this gateway."""
        try:
            async with asyncio.timeout(until - self._clock()):
                while self._open and not self._engines.cards():
                    await self._next_look()
        except TimeoutError:
            return Held.EXPIRED, []
        cards = self._engines.cards()
        return (Held.SERVED if cards else Held.LEFT), cards

    async def _next_look(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    def _check_room(self, tokens: int) -> None:
        full = self._tokens and self._tokens + tokens > self._most_tokens
        if full or len(self._waiters) >= MOST_REQUESTS:
            self._metrics.holds[Held.REFUSED].inc()
            raise Overloaded(
                f"no engine is ready, and {self._tokens} tokens wait for one already", retry_after_s=RETRY_STARTING_S
            )

    def _look(self) -> None:
        if self._waiters and self._engines.cards():
            self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
