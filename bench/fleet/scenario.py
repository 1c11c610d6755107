"""What comes, and what goes wrong: the tokens of each second, and engines that are lost. Knows no scaler."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bench.fleet.constants import Constants

_MINUTE = 60
_HOUR = 3600
_DAY = 24 * _HOUR
_NIGHT = 0.2
_BASE, _BURSTS = 0.3, ((1200, 1800), (3600, 3720), (5400, 6300))
_LOST, _LOST_AT = 0.3, 1200
_SLOW_START_S, _CLIMB_S = 600, 1800
_UNREST = 0.05
_KEPT = 0.8


@dataclass(frozen=True)
class Scenario:
    """One story.

    Attributes:
        about: what happens, for people.
        load: tokens that come in each second.
        constants: of its engines.
        losses: engines that die, by second.
    """

    about: str
    load: NDArray[np.float64]
    constants: Constants
    losses: dict[int, int]


def _day(engines: int, constants: Constants, random: np.random.Generator) -> Scenario:
    phase = np.cos(2 * np.pi * (np.arange(_DAY) / _DAY - 14 / 24))
    shape = _NIGHT + (1 - _NIGHT) * (1 + phase) / 2
    load = _peak(engines, constants) * shape * _unrest(_DAY, random)
    return Scenario("24 h, a wave from 20 % of the peak at 2:00 to the peak at 14:00", load, constants, {})


def _slow(engines: int, constants: Constants, random: np.random.Generator) -> Scenario:
    shape = np.interp(np.arange(4 * _HOUR), (_HOUR, _HOUR + _CLIMB_S), (_NIGHT, 1.0))
    load = _peak(engines, constants) * shape * _unrest(shape.size, random)
    about = (
        f"4 h; after one of them load climbs from 20 % to the peak in {_CLIMB_S // _MINUTE} minutes, and an engine "
        f"serves {_SLOW_START_S // _MINUTE} minutes after it was wished for"
    )
    return Scenario(about, load, replace(constants, start_s=_SLOW_START_S), {})


def _burst(engines: int, constants: Constants, random: np.random.Generator) -> Scenario:
    shape = np.full(2 * _HOUR, _BASE)
    for begin, end in _BURSTS:
        shape[begin:end] = 1.0
    load = _peak(engines, constants) * shape * _unrest(shape.size, random)
    return Scenario("2 h at 30 % of the peak, at once the peak for 10, 2 and 15 minutes", load, constants, {})


def _loss(engines: int, constants: Constants, random: np.random.Generator) -> Scenario:
    load = _peak(engines, constants) * np.full(_HOUR, 1.0) * _unrest(_HOUR, random)
    lost = max(1, round(_LOST * engines))
    about = "1 h at the peak; after 20 minutes three of ten engines, or the only one, die and are replaced at once"
    return Scenario(about, load, constants, {_LOST_AT: lost})


SCENARIOS: dict[str, Callable[[int, Constants, np.random.Generator], Scenario]] = {
    "day": _day,
    "slow": _slow,
    "burst": _burst,
    "loss": _loss,
}


def scenario(name: str, engines: int, constants: Constants, seed: int) -> Scenario:
    """A story for a fleet whose peak needs so many engines at the utilization that is aimed at."""
    return SCENARIOS[name](engines, constants, np.random.default_rng(seed))


def _peak(engines: int, constants: Constants) -> float:
    return engines * constants.full_speed * constants.utilization


def _unrest(seconds: int, random: np.random.Generator) -> NDArray[np.float64]:
    """A factor around 1 that drifts from minute to minute."""
    steps = random.normal(0.0, _UNREST * np.sqrt(1 - _KEPT**2), seconds // _MINUTE + 1)
    drift = np.zeros_like(steps)
    for place in range(1, steps.size):
        drift[place] = _KEPT * drift[place - 1] + steps[place]
    return np.repeat(np.exp(drift), _MINUTE)[:seconds]
