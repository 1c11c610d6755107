"""A fleet second by second: tokens come, engines take them, what is left waits. Knows no single request.

Queues of all engines are one: the gateways' choice keeps them nearly equal, which `bench.simulate_autoscaling` checks.
"""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.fleet.curve import LOADS, PERCENTILES, Curve
from bench.fleet.scalers import Scaler, Scrape
from bench.fleet.scenario import Scenario

_BINS_S = np.geomspace(0.001, 1000, 1201)


@dataclass(frozen=True)
class Played:
    """What each second was like.

    Attributes:
        load: tokens that came.
        refused: of them, for which there was no room.
        wait_s: that whoever came stood behind what was left over from before.
        ready: engines that served.
        paid: engines that served or started.
        use: load, as a part of what the ready engines do with full steps.
    """

    load: NDArray[np.float64]
    refused: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    ready: NDArray[np.float64]
    paid: NDArray[np.float64]
    use: NDArray[np.float64]


class Fleet:
    """Its engines, its queue and its clock."""

    def __init__(self, scenario: Scenario, scaler: Scaler, curve: Curve, engines: int) -> None:
        self._scenario, self._scaler, self._curve = scenario, scaler, curve
        self._ready = engines
        self._starting: Counter[int] = Counter()
        """Engines by the second in which they begin to serve."""
        self._waiting = self._taken = self._busy_s = self._steps = 0.0

    def play(self) -> Played:
        """From the first second to the last."""
        rows = [self._second(now, float(load)) for now, load in enumerate(self._scenario.load)]
        return Played(*np.array(rows).T)

    def _second(self, now: int, load: float) -> tuple[float, ...]:
        constants = self._scenario.constants
        self._change(now)
        able = self._ready * constants.full_speed
        before, taken = self._waiting, min(self._waiting + load, able)
        left = before + load - taken
        refused = min(max(left - self._ready * constants.queue_tokens, 0.0), load)
        self._waiting, self._taken = left - refused, self._taken + taken
        wait_s = (before + self._waiting) / 2 / able if able else 0.0
        use = load / able if able else 1.0
        self._busy_s += 1.0 if self._waiting else float(np.interp(use, LOADS, self._curve.busy))
        batch = constants.batch_tokens if self._waiting else float(np.interp(use, LOADS, self._curve.batch))
        self._steps += taken / batch
        if now and now % constants.scrape_s == 0:
            self._scrape(use)
        if now and now % constants.sync_s == 0:
            self._scale(now)
        return load, refused, wait_s, self._ready, self._ready + self._starting.total(), use

    def _change(self, now: int) -> None:
        self._ready += self._starting.pop(now, 0)
        lost = min(self._scenario.losses.get(now, 0), self._ready)
        if lost:
            self._ready -= lost
            self._starting[now + self._scenario.constants.start_s] += lost

    def _scrape(self, use: float) -> None:
        speed = float(np.interp(use, LOADS, self._curve.speed))
        busy = self._busy_s / self._scenario.constants.scrape_s
        self._scaler.scraped(Scrape(self._taken, self._steps, self._waiting, speed, busy, self._ready))
        self._busy_s = 0.0

    def _scale(self, now: int) -> None:
        current = self._ready + self._starting.total()
        wanted = self._scaler.wanted(current)
        if wanted > current:
            self._starting[now + self._scenario.constants.start_s] += wanted - current
        for _ in range(current - wanted):
            self._stop_one()

    def _stop_one(self) -> None:
        """The youngest goes first, as a ReplicaSet has it: one that does not serve yet, where there is any."""
        if not self._starting:
            self._ready -= 1
            return
        last = max(self._starting)
        self._starting[last] -= 1
        if not self._starting[last]:
            del self._starting[last]


def latencies(played: Played, curve: Curve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How many tokens' worth of texts took how long, over time.

    Returns:
        Upper ends of the bins in seconds; the weights, one row a minute and one column a bin. What was refused is in
        none of them.
    """
    minutes = math.ceil(played.load.size / 60)
    weights = np.zeros((minutes, _BINS_S.size))
    served = (played.load - played.refused) / PERCENTILES.size
    for minute in range(minutes):
        span = slice(60 * minute, 60 * (minute + 1))
        found = curve.at(played.use[span]) + played.wait_s[span, None]
        places = np.searchsorted(_BINS_S, found.ravel()).clip(max=_BINS_S.size - 1)
        weights[minute] = np.bincount(places, np.repeat(served[span], PERCENTILES.size), _BINS_S.size)
    return _BINS_S, weights


def percentile(bins: NDArray[np.float64], weights: NDArray[np.float64], percent: float) -> float:
    """Seconds that so many percent of the weights stay below; NaN where nothing was answered."""
    total = np.cumsum(weights)
    return float(bins[np.searchsorted(total, total[-1] * percent / 100)]) if total[-1] else float("nan")
