"""`Engines`: a static list of engines as one that answers. Thin: decisions lie in `picking`, calls in `channel`."""

import asyncio
import time
from collections.abc import Callable, Sequence
from random import Random

import grpc
from trellis_wire.v1 import embedding_pb2 as pb

from ivy.client.card import Card
from ivy.client.channel import EngineChannel
from ivy.client.endpoint import Endpoint
from ivy.client.picking import ejection_s, pick, pinned
from ivy.client.retry_budget import RetryBudget
from ivy.client.watch import Watch
from ivy.door import RETRY_UNKNOWN_S, code_of
from ivy.errors import NoEngine
from ivy.metrics import Metrics

LOST = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED})
"""The engine was not reached, is shutting down, or died on the way."""
WORTH_ELSEWHERE = LOST | {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.FAILED_PRECONDITION}
"""What another engine may answer: one that is there, has room, or has the right model."""


class Engines:
    """Asks the engine that is least loaded, and once another one where that is worth it."""

    def __init__(
        self,
        addresses: Sequence[str],
        digest: str | None,
        retry_budget: RetryBudget,
        metrics: Metrics,
        random: Random | None = None,
    ) -> None:
        self.endpoints = [Endpoint(address) for address in addresses]
        self._wanted = digest
        self._digest = digest
        self._budget = retry_budget
        self._metrics = metrics
        self._random = random or Random()  # noqa: S311 (spreads load, keeps no secret)
        self._clock: Callable[[], float] = time.monotonic
        self._channels = {each.address: EngineChannel(each.address) for each in self.endpoints}
        self._watches = {each.address: self._watch_of(each) for each in self.endpoints}
        self._tasks: list[asyncio.Task[None]] = []
        for each in self.endpoints:
            metrics.watch_endpoint(each)

    def start(self) -> None:
        """Begin to look at the engines."""
        self._tasks = [asyncio.create_task(watch.run()) for watch in self._watches.values()]

    async def close(self) -> None:
        """Stop looking, and end every connection."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(channel.close() for channel in self._channels.values()))

    def cards(self) -> list[Card]:
        """The cards of all engines that may be asked now: all of one digest."""
        return [
            each.card
            for each in self.endpoints
            if self._digest is not None and each.serves(self._digest) and each.card is not None
        ]

    async def embed(self, request: pb.EmbedRequest, tokens: int, timeout_s: float) -> pb.EmbedResponse:
        """Embed one chunk, on an engine with the digest of the request.

        Raises:
            NoEngine: none is ready.
            grpc.RpcError: the engine's own error, after a second try elsewhere where that was worth it.
        """
        first = self._pick(request.model_digest, tokens, None)
        if first is None:
            raise NoEngine("no engine is ready to answer", retry_after_s=RETRY_UNKNOWN_S)
        self._budget.paid()
        deadline = self._clock() + timeout_s
        try:
            return await self._ask(first, request, tokens, timeout_s)
        except grpc.RpcError as error:
            second = self._elsewhere(error, request.model_digest, tokens, first)
            if second is None:
                raise
        return await self._ask(second, request, tokens, max(deadline - self._clock(), 0.0))

    def _elsewhere(self, error: grpc.RpcError, digest: str, tokens: int, first: Endpoint) -> Endpoint | None:
        """The engine for a second try, or None where there is none or it is not worth it."""
        second = self._pick(digest, tokens, first) if code_of(error) in WORTH_ELSEWHERE else None
        if second is None:
            return None
        if not self._budget.take():
            self._metrics.retries_refused.inc()
            return None
        self._metrics.retries.inc()
        return second

    async def _ask(
        self, endpoint: Endpoint, request: pb.EmbedRequest, tokens: int, timeout_s: float
    ) -> pb.EmbedResponse:
        with endpoint.lease(tokens):
            try:
                response = await self._channels[endpoint.address].embed(request, timeout_s)
            except grpc.RpcError as error:
                self._failed(endpoint, code_of(error))
                raise
        endpoint.failures = endpoint.ejections = 0
        return response

    def _failed(self, endpoint: Endpoint, code: grpc.StatusCode) -> None:
        self._metrics.engine_errors[code.name].inc()
        if code is grpc.StatusCode.FAILED_PRECONDITION or code in LOST:
            # Nothing more is sent there until a look says that it serves, which is asked for at once.
            endpoint.seen_down()
            self._watches[endpoint.address].kick()
            self._changed()
        if code not in LOST:
            return
        endpoint.failures += 1
        now = self._clock()
        seconds = ejection_s(endpoint, self.endpoints, now)
        if seconds:
            endpoint.ejected_until = now + seconds
            endpoint.ejections += 1
            endpoint.failures = 0
            self._metrics.ejections[endpoint.address].inc()

    def _pick(self, digest: str, tokens: int, avoid: Endpoint | None) -> Endpoint | None:
        return pick(self.endpoints, digest, tokens, self._clock(), self._random, avoid)

    def _changed(self) -> None:
        self._digest = pinned(self._wanted, self._digest, self.endpoints)

    def _watch_of(self, endpoint: Endpoint) -> Watch:
        return Watch(endpoint, self._channels[endpoint.address], self._clock, self._changed)
