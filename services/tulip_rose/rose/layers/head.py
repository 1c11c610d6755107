"""From the last states of a model to the rows that were asked for."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from tulip_rose.rose.batch import Batch, Part
from tulip_rose.rose.facts import Pooling
from tulip_rose.rose.output import finish, finite
from tulip_rose.rose.pooling import pool


@dataclass(frozen=True, slots=True)
class Made:
    """The rows of one part; those that are not finite are zeros."""

    rows: Tensor
    """[R, values or packed bytes]; of unequal size: their bytes, uint8, one after the other."""
    finite: Tensor
    """bool [R]."""
    starts: Tensor | None = None
    """int64 [R + 1], where rows are of unequal size: where each begins and the last one ends."""


class Head(Protocol):
    """Makes rows of one kind."""

    def __call__(self, states: Tensor, part: Part, batch: Batch) -> Made:
        """Rows of states [T, H]; the part is one of the batch's."""


class TorchHead:
    """Pools each span and gives it the form that was asked. See `Head`."""

    def __init__(self, pooling: Pooling) -> None:
        self._pooling = pooling

    def __call__(self, states: Tensor, part: Part, batch: Batch) -> Made:
        """See `Head`."""
        rows = pool(states, part.spans, self._pooling)
        good = finite(rows)
        rows = rows.masked_fill(~good[:, None], 0.0)
        return Made(finish(rows, part.form), good)
