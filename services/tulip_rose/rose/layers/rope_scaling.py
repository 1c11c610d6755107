"""Rotary positions of models that were stretched to longer texts than they were first trained for.

Each law divides the speed at which a pair of values turns by a factor, and says of every pair how much of its own speed
it keeps nevertheless. All are fixed when a model is loaded: what depends on the length of a text is none of these.
"""

from dataclasses import dataclass
from math import ceil, floor, log, pi
from typing import Protocol

import torch
from torch import Tensor


class Scaling(Protocol):
    """How speeds are changed."""

    @property
    def amplitude(self) -> float:
        """What cosines and sines are multiplied by."""

    def scaled(self, speeds: Tensor, base: float) -> Tensor:
        """Radians a position of each pair, float32 [size / 2], as they are to be.

        Args:
            speeds: as they are without it, `base ** (-2 p / size)`.
            base: of the rotary positions.
        """


@dataclass(frozen=True, slots=True)
class Linear:
    """All pairs turn slower by one factor. See `Scaling`."""

    factor: float

    @property
    def amplitude(self) -> float:
        """See `Scaling`."""
        return 1.0

    def scaled(self, speeds: Tensor, base: float) -> Tensor:
        """See `Scaling`."""
        return speeds / self.factor


@dataclass(frozen=True, slots=True)
class ByWavelength:
    """Llama 3.1: pairs keep their speed by how often they turn in the first training's length. See `Scaling`."""

    factor: float
    slow: float
    """Turns in that length up to which a pair keeps nothing."""
    fast: float
    """Turns from which it keeps all of its speed; more than `slow`."""
    first_positions: int
    """The length of the first training."""

    @property
    def amplitude(self) -> float:
        """See `Scaling`."""
        return 1.0

    def scaled(self, speeds: Tensor, base: float) -> Tensor:
        """See `Scaling`."""
        turns = self.first_positions * speeds / (2 * pi)
        return _kept(speeds, ((turns - self.slow) / (self.fast - self.slow)).clamp(0, 1), self.factor)


@dataclass(frozen=True, slots=True)
class Yarn:
    """YaRN (arXiv 2309.00071, 3.2): pairs keep their speed by a ramp over their places. See `Scaling`."""

    factor: float
    slow: float
    """Turns in the first training's length where the ramp ends: pairs that turn less keep nothing."""
    fast: float
    """Turns where it begins."""
    first_positions: int
    """The length of the first training."""
    amplitude: float

    def scaled(self, speeds: Tensor, base: float) -> Tensor:
        """See `Scaling`."""
        pairs = speeds.shape[0]
        first = max(floor(self._place(self.fast, pairs, base)), 0)
        last = min(ceil(self._place(self.slow, pairs, base)), 2 * pairs - 1)
        # A ramp of no length is a step.
        gone = ((torch.arange(pairs).float() - first) / (last - first or 1e-3)).clamp(0, 1)
        return _kept(speeds, 1 - gone, self.factor)

    def _place(self, turns: float, pairs: int, base: float) -> float:
        """Which pair turns so often in the first training's length."""
        return pairs * log(self.first_positions / (2 * pi * turns)) / log(base)


def yarn_amplitude(factor: float, weight: float = 1.0) -> float:
    """The paper's temperature of logits, of which cosines and sines take the root each: 0.1 ln(factor) + 1."""
    return 0.1 * weight * log(factor) + 1 if factor > 1 else 1.0


def _kept(speeds: Tensor, share: Tensor, factor: float) -> Tensor:
    return speeds * share + speeds / factor * (1 - share)
