"""A few engines and gateways, request by request: the engine's own scheduler and the gateway's own choice.

A heap of events in virtual time. Knows no autoscaler: its engines are a fixed number.
"""

from collections.abc import Iterator
from collections.abc import Sequence as Run
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import accumulate
from random import Random

import numpy as np
from ivy.client.card import Card
from ivy.client.endpoint import Endpoint
from ivy.client.picking import pick
from ivy.client.subset import Nearness, subset
from tulip_rose.sequence import OutputForm, Sequence
from tulip_rose.tulip.errors import QueueFull
from tulip_rose.tulip.scheduler import Scheduler

from bench.fleet.constants import Constants

DIGEST = "m"
GATEWAYS = 2
_CARD = Card(DIGEST, 384, frozenset(), 512, 30522, 512, 131_072)
_FORM = OutputForm(384)
_IDS = np.zeros(512, dtype=np.int32)
_LONG_AGO = -1e6


def ready_endpoint(number: int) -> Endpoint:
    """What a gateway knows of an engine that has been ready for long."""
    endpoint = Endpoint(str(number))
    endpoint.seen_ready(_CARD, _LONG_AGO)
    return endpoint


def _views(engines: int, gateways: int, held: int) -> Iterator[list[int]]:
    """The engines of each gateway, chosen as gateways do."""
    every = [str(number) for number in range(engines)]
    peers = [f"gateway {number}" for number in range(gateways)]
    for peer in peers:
        yield [int(name) for name in subset(Nearness(peer, peers), every, held, lambda _: False)]


@dataclass(slots=True)
class Call:
    """One text under way: its engine as its gateway sees it, and the tokens before and of it there."""

    endpoint: Endpoint
    ahead: int


@dataclass(slots=True)
class Engine:
    """A scheduler and a device that does one step at a time, as on a CPU."""

    scheduler: Scheduler
    batch: list[Sequence] = field(default_factory=list)
    busy_s: float = 0.0
    tokens: int = 0
    steps: int = 0


class Cell:
    """Plays texts that come at random times, one a request."""

    def __init__(
        self,
        engines: int,
        constants: Constants,
        counts: dict[int, int],
        random: Random,
        gateways: int = GATEWAYS,
        held: int | None = None,
    ) -> None:
        """`counts` are texts by their length in tokens; a gateway holds so many engines, None: all."""
        self.engines = [Engine(Scheduler(constants.batch_tokens, constants.queue_tokens)) for _ in range(engines)]
        self.latencies_s: list[float] = []
        """Of the answered, in the order of their answers."""
        self.refused = 0
        self._views = [
            [ready_endpoint(number) for number in numbers] for numbers in _views(engines, gateways, held or engines)
        ]
        self._constants, self._random = constants, random
        self._lengths, self._weights = list(counts), list(accumulate(counts.values()))
        self._events: list[tuple[float, int]] = []
        """When a step of which engine ends."""

    @property
    def mean_tokens(self) -> float:
        """Of a text."""
        shares = np.diff([0, *self._weights])
        return float(np.dot(self._lengths, shares) / self._weights[-1])

    def run(self, rates: Run[float]) -> None:
        """Play until all is answered.

        Args:
            rates: tokens that come in each second.
        """
        for second, rate in enumerate(rates):
            self._second(float(second), rate / self.mean_tokens)
        while self._events:
            self._finish(*heappop(self._events))

    def _second(self, begin: float, texts: float) -> None:
        at = begin + self._random.expovariate(texts)
        while at < begin + 1:
            while self._events and self._events[0][0] <= at:
                self._finish(*heappop(self._events))
            self._arrive(at)
            at += self._random.expovariate(texts)

    def _arrive(self, now: float) -> None:
        [length] = self._random.choices(self._lengths, cum_weights=self._weights)
        view = self._views[self._random.randrange(len(self._views))]
        sequence = Sequence.whole(_IDS[:length], _FORM, arrival=now)
        first = pick(view, DIGEST, length, now, self._random)
        if not (first and self._sent(sequence, first, now)):
            second = pick(view, DIGEST, length, now, self._random, avoid=first)
            self.refused += not (second and self._sent(sequence, second, now))

    def _sent(self, sequence: Sequence, endpoint: Endpoint, now: float) -> bool:
        number = int(endpoint.address)
        try:
            self.engines[number].scheduler.submit([sequence])
        except QueueFull:
            return False
        endpoint.outstanding_tokens += sequence.tokens
        sequence.trace = Call(endpoint, endpoint.outstanding_tokens)
        if not self.engines[number].batch:
            self._launch(number, now)
        return True

    def _launch(self, number: int, now: float) -> None:
        engine = self.engines[number]
        took = engine.scheduler.take(now)
        engine.batch = took.batch
        if engine.batch:
            seconds = self._constants.step_s(took.tokens)
            engine.busy_s += seconds
            engine.tokens += took.tokens
            engine.steps += 1
            heappush(self._events, (now + seconds, number))

    def _finish(self, now: float, number: int) -> None:
        batch = self.engines[number].batch
        self.engines[number].scheduler.settle(batch)
        for sequence in batch:
            self._answer(sequence, now)
        self._launch(number, now)

    def _answer(self, sequence: Sequence, now: float) -> None:
        call = sequence.trace
        if not isinstance(call, Call):
            raise TypeError("a text was answered that nobody sent")
        call.endpoint.outstanding_tokens -= sequence.tokens
        call.endpoint.speed.answered(call.ahead, now - sequence.arrival, now)
        self.latencies_s.append(now - sequence.arrival + self._constants.around_ms / 1000)
