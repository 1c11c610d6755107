"""The ways to scale that are compared, each with the engines that it begins with. Knows no run."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from trellis_operator.scaling.formula import Targets

from bench.fleet.constants import Constants
from bench.fleet.scalers import ByCpu, ByNeed, Scaler, Static
from bench.fleet.scenario import Scenario

DEFAULT_WAITING = 200_000
"""`targetQueuedTokens` of a manifest that names none."""
SHORT_WAIT_S = 2.0
_ROOM = 2
"""The most engines, as a multiple of what the peak needs."""


@dataclass(frozen=True)
class Strategy:
    """One way to scale.

    Attributes:
        name: in tables.
        begin: a scaler, and how many engines serve at first, for a scenario and the engines that its peak needs.
    """

    name: str
    begin: Callable[[Scenario, int], tuple[Scaler, int]]


def _needed(tokens_per_second: float, constants: Constants) -> int:
    return max(1, math.ceil(tokens_per_second / (constants.full_speed * constants.utilization) - 1e-9))


def _by_default(scenario: Scenario, peak: int) -> tuple[Scaler, int]:
    return _by_need(scenario, DEFAULT_WAITING, peak)


def _short_wait(scenario: Scenario, peak: int) -> tuple[Scaler, int]:
    return _by_need(scenario, SHORT_WAIT_S * scenario.constants.full_speed, peak)


def _by_need(scenario: Scenario, waiting: float, peak: int) -> tuple[Scaler, int]:
    targets = _targets(scenario.constants, waiting, peak)
    return ByNeed(scenario.constants, targets), _needed(float(scenario.load[0]), scenario.constants)


def _by_cpu(scenario: Scenario, peak: int) -> tuple[Scaler, int]:
    targets = _targets(scenario.constants, 1.0, peak)
    return ByCpu(scenario.constants, targets), _needed(float(scenario.load[0]), scenario.constants)


def _targets(constants: Constants, waiting: float, peak: int) -> Targets:
    return Targets(waiting, constants.utilization, min_replicas=1, max_replicas=_ROOM * peak)


def _for_peak(scenario: Scenario, peak: int) -> tuple[Scaler, int]:
    return Static(peak), peak


def _for_mean(scenario: Scenario, peak: int) -> tuple[Scaler, int]:
    engines = _needed(float(scenario.load.mean()), scenario.constants)
    return Static(engines), engines


STRATEGIES = (
    Strategy("formula, defaults", _by_default),
    Strategy("formula, 2 s may wait", _short_wait),
    Strategy("static, for the peak", _for_peak),
    Strategy("static, for the mean", _for_mean),
    Strategy("HPA on CPU", _by_cpu),
)
