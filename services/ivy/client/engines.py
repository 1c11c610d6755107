"""`Engines`: a changing set of engines as one that answers. Thin: decisions lie in `picking`, calls in `member`.

Whoever knows the set tells it whole, as `Target`s; how it is found is not known here.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from random import Random

import grpc
from trellis_wire.v1 import embedding_pb2 as pb

from ivy.client.card import Card
from ivy.client.endpoint import Endpoint
from ivy.client.member import Member
from ivy.client.picking import ejection_s, pick, pinned, set_aside, usable
from ivy.client.retry_budget import RetryBudget
from ivy.client.target import Target
from ivy.config import Config
from ivy.door import RETRY_UNKNOWN_S, code_of
from ivy.errors import NoEngine
from ivy.metrics import Metrics
from ivy.timing import Metadata

LOST = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED})
"""The engine was not reached, is shutting down, or died on the way."""
WORTH_ELSEWHERE = LOST | {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.FAILED_PRECONDITION}
"""What another engine may answer: one that is there, has room, or has the right model."""

_Key = tuple[str, str]
_log = logging.getLogger(__name__)


class Engines:
    """Asks the engine that is least loaded, and once another one where that is worth it."""

    def __init__(self, config: Config, metrics: Metrics, random: Random | None = None, texts: str = "") -> None:
        """`texts` names the files that this gateway reads; engines that read others are not asked."""
        self._texts = texts
        self._aside: set[str] = set()
        self._wanted = config.model_digest
        self._digest = config.model_digest
        self._slow_start_s = config.slow_start_s
        self._longest_call_s = config.request_timeout_s
        self._budget = RetryBudget(config.retry_budget_percent)
        self._metrics = metrics
        self._random = random or Random()  # noqa: S311 (spreads load, keeps no secret)
        self._clock: Callable[[], float] = time.monotonic
        self._members: dict[_Key, Member] = {}
        self._told: list[Callable[[], None]] = []
        self.is_told = False
        """Whether the set has been told at all: until then, that there is none means nothing."""
        self.leaving: set[asyncio.Task[None]] = set()
        """Engines that are not in the set any more and still answer."""

    @property
    def endpoints(self) -> list[Endpoint]:
        """What is known of each engine of the set."""
        return [member.endpoint for member in self._members.values()]

    def on_change(self, told: Callable[[], None]) -> None:
        """Let `told` be called whenever an engine may have become one that can be asked, or has ceased to be."""
        self._told.append(told)

    def replace(self, targets: Collection[Target]) -> None:
        """Make `targets` the whole set, at once. Nothing new is sent to an engine that is not in it any more."""
        wanted = {(target.address, target.instance): target for target in targets}
        # Those that leave go first: one that comes may have the address, and so the metrics, of one that leaves.
        for key in self._members.keys() - wanted.keys():
            self._remove(self._members.pop(key))
        for key, target in wanted.items():
            if key not in self._members:
                self._members[key] = self._added(target)
            self._members[key].endpoint.stand(target.standing, self._clock())
        self.is_told = True
        self._changed()

    def failing(self) -> frozenset[str]:
        """Engines of the set that are known to take no work: each its instance, or its address where it has none."""
        members = self._members.items()
        return frozenset(
            instance or address for (address, instance), each in members if each.endpoint.fails(self._digest)
        )

    async def close(self) -> None:
        """Stop looking, and end every connection with whatever is still on it."""
        for task in self.leaving:
            task.cancel()
        await asyncio.gather(*self.leaving, return_exceptions=True)
        await asyncio.gather(*(member.leave(0) for member in self._members.values()))

    def cards(self) -> list[Card]:
        """The cards of all engines that may be asked now: all of one digest."""
        if self._digest is None:
            return []
        return [each.card for each in usable(self.endpoints, self._digest) if each.card is not None]

    async def embed(
        self, request: pb.EmbedRequest, tokens: int, timeout_s: float, metadata: Metadata = ()
    ) -> pb.EmbedResponse:
        """Embed one chunk, on an engine with the digest of the request; `metadata` says to it whose it is.

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
            return await self._ask(first, request, tokens, timeout_s, metadata)
        except grpc.RpcError as error:
            second = self._elsewhere(error, request.model_digest, tokens, first)
            if second is None:
                raise
        return await self._ask(second, request, tokens, max(deadline - self._clock(), 0.0), metadata)

    def _elsewhere(self, error: grpc.RpcError, digest: str, tokens: int, first: Member) -> Member | None:
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
        self, member: Member, request: pb.EmbedRequest, tokens: int, timeout_s: float, metadata: Metadata
    ) -> pb.EmbedResponse:
        try:
            response = await member.embed(request, tokens, timeout_s, metadata)
        except grpc.RpcError as error:
            self._failed(member, code_of(error))
            raise
        member.endpoint.failures = member.endpoint.ejections = 0
        return response

    def _failed(self, member: Member, code: grpc.StatusCode) -> None:
        self._metrics.engine_errors[code.name].inc()
        endpoint = member.endpoint
        if code is grpc.StatusCode.FAILED_PRECONDITION or code in LOST:
            # Nothing more is sent there until a look says that it serves, which is asked for at once.
            endpoint.seen_lost()
            member.look_again()
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
            member.counters.ejections.inc()

    def _pick(self, digest: str, tokens: int, avoid: Member | None) -> Member | None:
        members = list(self._members.values())
        endpoints = [member.endpoint for member in members]
        avoided = avoid.endpoint if avoid is not None else None
        chosen = pick(endpoints, digest, tokens, self._clock(), self._random, avoided)
        return next((member for member in members if member.endpoint is chosen), None)

    def _added(self, target: Target) -> Member:
        _log.info("engine %s is in the set", target.address)
        slow_start_s = self._slow_start_s
        endpoint = Endpoint(target.address, slow_start_s=slow_start_s, standing=target.standing, warm=target.warm)
        return Member(endpoint, self._metrics.endpoint_came(endpoint), self._clock, self._changed)

    def _remove(self, member: Member) -> None:
        _log.info("engine %s is not in the set any more", member.endpoint.address)
        self._metrics.endpoint_left(member.endpoint.address)
        task = asyncio.create_task(member.leave(self._longest_call_s))
        self.leaving.add(task)
        task.add_done_callback(self.leaving.discard)

    def _changed(self) -> None:
        self._digest = pinned(self._wanted, self._digest, self.endpoints, self._texts)
        aside = set_aside(self._digest, self.endpoints)
        for address in aside - self._aside:
            _log.warning(
                "engine %s gets no calls: it holds another model or other files of it than %s", address, self._digest
            )
        self._aside = aside
        for told in self._told:
            told()
