"""The ways to scale that are compared, each with the engines that it begins with. Knows no run."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from trellis_operator.scaling.formula import UNMEASURED_ACCELERATED, UNMEASURED_ON_CPU, Targets

from bench.fleet.constants import Constants
from bench.fleet.scalers import ByCpu, ByNeed, Scaler, Static
from bench.fleet.scenario import Scenario

MANY_WAITING = 200_000
"""Tokens: more than an engine's queue on a CPU holds."""
WAIT_S = Targets(None, 1.0, 0, 1).wait_s
"""Of work that may wait by default."""
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
    return _by_need(scenario, None, peak)


def _many_waiting(scenario: Scenario, peak: int) -> tuple[Scaler, int]:
    return _by_need(scenario, MANY_WAITING, peak)


def _by_need(scenario: Scenario, waiting: float | None, peak: int) -> tuple[Scaler, int]:
    return _scaled(scenario, _targets(scenario.constants, waiting, peak))


def _as_measured(scenario: Scenario, peak: int) -> tuple[Scaler, int]:
    return _scaled(scenario, replace(_targets(scenario.constants, None, peak), accelerated=False))


def _scaled(scenario: Scenario, targets: Targets) -> tuple[Scaler, int]:
    return ByNeed(scenario.constants, targets), _needed(float(scenario.load[0]), scenario.constants)


def _by_cpu(scenario: Scenario, peak: int) -> tuple[Scaler, int]:
    targets = _targets(scenario.constants, 1.0, peak)
    return ByCpu(scenario.constants, targets), _needed(float(scenario.load[0]), scenario.constants)


def _targets(constants: Constants, waiting: float | None, peak: int) -> Targets:
    return Targets(
        waiting,
        constants.utilization,
        min_replicas=1,
        max_replicas=_ROOM * peak,
        unmeasured_tokens=UNMEASURED_ACCELERATED if constants.accelerated else UNMEASURED_ON_CPU,
        accelerated=constants.accelerated,
    )


def _for_peak(scenario: Scenario, peak: int) -> tuple[Scaler, int]:
    return Static(peak), peak


def _for_mean(scenario: Scenario, peak: int) -> tuple[Scaler, int]:
    engines = _needed(float(scenario.load.mean()), scenario.constants)
    return Static(engines), engines


ON_ACCELERATORS = (
    Strategy("formula, defaults", _by_default),
    Strategy("formula, small batches measure", _as_measured),
    Strategy("static, for the peak", _for_peak),
)
STRATEGIES = (
    Strategy("formula, defaults", _by_default),
    Strategy("formula, 200,000 tokens may wait", _many_waiting),
    Strategy("static, for the peak", _for_peak),
    Strategy("static, for the mean", _for_mean),
    Strategy("HPA on CPU", _by_cpu),
)
