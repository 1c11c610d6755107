"""Whether memory stays flat: a slope that single peaks do not bend, and the growth that it means. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

_MOST_POINTS = 300
_LEAST_MIB = 2.0
"""What an allocator takes and gives back by itself, whatever the size of a process."""


@dataclass(frozen=True)
class Sample:
    """Resident memory at a time since the load began."""

    seconds: float
    mib: float


@dataclass(frozen=True)
class Flatness:
    """What the memory of one program did once it was warm.

    Attributes:
        middle_mib: the median.
        slope_mib_per_hour: see `slope`.
        growth_mib: what the slope comes to over the time that was looked at.
        bound_mib: more growth than this is no noise.
    """

    middle_mib: float
    highest_mib: float
    slope_mib_per_hour: float
    growth_mib: float
    bound_mib: float

    @classmethod
    def of(cls, samples: Sequence[Sample], warm_s: float, share: float) -> "Flatness":
        """Of at least two samples after `warm_s`; growth is bounded by this share of the median."""
        warm = [each for each in samples if each.seconds >= warm_s]
        middle = median(each.mib for each in warm)
        a_second = slope(warm)
        growth = a_second * (warm[-1].seconds - warm[0].seconds)
        highest = max(each.mib for each in warm)
        return cls(middle, highest, a_second * 3600, growth, max(share * middle, _LEAST_MIB))

    @property
    def flat(self) -> bool:
        """Whether it did not grow by more than the bound."""
        return self.growth_mib <= self.bound_mib


def slope(samples: Sequence[Sample]) -> float:
    """MiB a second: the median of the slopes between all pairs of samples (Theil 1950, Sen 1968)."""
    step = max(len(samples) // _MOST_POINTS, 1)
    pairs = combinations(samples[::step], 2)
    return median((late.mib - early.mib) / (late.seconds - early.seconds) for early, late in pairs)
