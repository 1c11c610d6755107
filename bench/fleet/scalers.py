"""Who decides how many engines there are: nobody, our formula, or CPU. Knows no queue and no request."""

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from trellis_operator.scaling.formula import TOLERANCE, Demand, Targets, need, replicas

from bench.fleet.constants import Constants

_PODS_AT_ONCE = 4
"""Kubernetes adds so many, or as many as there are, in `sync_s`."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """What metrics say at one moment.

    Attributes:
        taken: tokens that engines have taken from their queues since the beginning.
        steps: that they have made since then.
        waiting: tokens in queues.
        speed: tokens a second of busy time, of one engine.
        busy: part of the time since the scrape before in which ready engines worked.
        ready: engines that serve.
    """

    taken: float
    steps: float
    waiting: float
    speed: float
    busy: float
    ready: int


class Scaler(Protocol):
    """Decides."""

    def scraped(self, scrape: Scrape) -> None:
        """Metrics were read, `scrape_s` after the last time."""

    def wanted(self, current: int) -> int:
        """Engines that there should be; asked each `sync_s`. `current` are those that serve or start."""


@dataclass
class Static:
    """Always as many."""

    engines: int

    def scraped(self, scrape: Scrape) -> None:
        """See `Scaler`."""

    def wanted(self, current: int) -> int:
        """See `Scaler`."""
        return self.engines


@dataclass
class Behaviour:
    """How Kubernetes' autoscaler follows a recommendation: up in bounded steps, down by the highest of a window."""

    constants: Constants
    _recent: deque[int] = field(default_factory=deque)

    def follow(self, recommended: int, current: int) -> int:
        """What it makes of it. What is there at first counts as the recommendation before the first."""
        if not self._recent:
            self._recent.append(current)
        self._recent.append(recommended)
        while len(self._recent) > self.constants.fewer_after_s // self.constants.sync_s:
            self._recent.popleft()
        if recommended >= current:
            return min(recommended, current + max(_PODS_AT_ONCE, current))
        return min(max(self._recent), current)


class ByNeed:
    """The operator's formula, as KEDA and the autoscaler that it makes follow it."""

    def __init__(self, constants: Constants, targets: Targets) -> None:
        self._targets = targets
        self._scrape_s, self._queue, self._batch = constants.scrape_s, constants.queue_tokens, constants.batch_tokens
        self._scrapes: deque[Scrape] = deque(maxlen=constants.rate_s // constants.scrape_s + 1)
        self._speeds: deque[float] = deque(maxlen=constants.capacity_s // constants.scrape_s)
        self._behaviour = Behaviour(constants)

    def scraped(self, scrape: Scrape) -> None:
        """See `Scaler`."""
        self._scrapes.append(scrape)
        self._speeds.append(scrape.speed)

    def wanted(self, current: int) -> int:
        """See `Scaler`."""
        if len(self._scrapes) < 2:
            return current
        first, last = self._scrapes[0], self._scrapes[-1]
        rate = (last.taken - first.taken) / ((len(self._scrapes) - 1) * self._scrape_s)
        steps = last.steps - first.steps
        batch = (last.taken - first.taken) / steps if steps else 0.0
        demand = Demand(last.waiting, rate, max(self._speeds), self._queue, batch, self._batch, last.ready)
        needed = need(demand, self._targets)
        return self._behaviour.follow(replicas(needed, current, self._targets), current)


class ByCpu:
    """Kubernetes' autoscaler on CPU: `ceil(current * utilization / target)`, as its documentation has it.

    Engines that start count as idle where more are asked for, which may end in no change.
    """

    def __init__(self, constants: Constants, targets: Targets) -> None:
        self._targets = targets
        self._last: Scrape | None = None
        self._behaviour = Behaviour(constants)

    def scraped(self, scrape: Scrape) -> None:
        """See `Scaler`."""
        self._last = scrape

    def wanted(self, current: int) -> int:
        """See `Scaler`."""
        if self._last is None or not self._last.ready:
            return current
        ratio = self._last.busy / self._targets.utilization
        if ratio > 1:
            ratio *= min(self._last.ready / current, 1.0)
            ratio = max(ratio, 1.0)
        wanted = current if abs(ratio - 1) <= TOLERANCE else math.ceil(ratio * current)
        bounded = min(max(wanted, self._targets.min_replicas), self._targets.max_replicas)
        return self._behaviour.follow(bounded, current)
