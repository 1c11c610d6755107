"""What heads take: of the device while they run, of pinned memory for what they have made. Knows no head."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from tulip_rose.rose.graphs.layout import grown

FLOAT32 = 4
_OF_BOUNDS = 8
"""Two int32."""
_PASSED = 3
"""Sets of rows beside those that come in: what goes into a module, what comes out, and what is made of that."""


@dataclass(frozen=True, slots=True)
class StepSize:
    """The largest step."""

    tokens: int
    """Rows, pads included."""
    spans: int
    """To pool: one a slot. Texts with several spans each make more rows, and take more when they come."""
    hidden: int
    """Values of a state."""
    value_bytes: int
    """Of such a value."""


@dataclass(frozen=True, slots=True)
class HeadNeeds:
    """Bytes of one head."""

    device: int = 0
    """Alive at once while it runs, at most; heads run one after the other."""
    pinned: int = 0
    """Of the host, for one step: bounds that it reads, rows of one form, and which are finite."""
    held: int = 0
    """Weights that are not among those of the checkpoint, or lie there in another place too."""


class Needy(Protocol):
    """What says beforehand what it takes."""

    def needs(self, step: StepSize) -> HeadNeeds:
        """For steps that are no larger than this one."""


def together(needs: Iterable[HeadNeeds]) -> HeadNeeds:
    """Of heads that run one after the other, and exchange what they have with the host in the same step."""
    found = tuple(needs)
    return HeadNeeds(
        device=max((each.device for each in found), default=0),
        pinned=sum(each.pinned for each in found),
        held=sum(each.held for each in found),
    )


def results_bytes(*sizes: int) -> int:
    """Of results of these sizes: their memory is taken in powers of two."""
    return sum(map(grown, sizes))


def bounds_bytes(spans: int) -> int:
    """Of the bounds of spans, on their way to the device."""
    return grown(_OF_BOUNDS * spans)


def rows_bytes(rows: int, entering: int, widest: int) -> int:
    """Rows of float32 that are alive at once while they go through modules and get their form.

    Args:
        rows: how many.
        entering: values of a row before.
        widest: values of the widest row that a module takes or gives.
    """
    return rows * (entering + _PASSED * widest) * FLOAT32
