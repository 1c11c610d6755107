"""From the last states of a model to the rows that were asked for."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from tulip_rose.rose.batch import Batch, Part
from tulip_rose.rose.output import finish, finite
from tulip_rose.rose.pooling import pool
from tulip_rose.rose.pooling_words import Poolings
from tulip_rose.rose.rows.row_module import RowModule


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
    """Pools each span, takes the rows through modules and gives them the form that was asked. See `Head`."""

    def __init__(self, poolings: Poolings, rows: tuple[RowModule, ...] = ()) -> None:
        self._poolings = poolings
        self._modules = rows

    def __call__(self, states: Tensor, part: Part, batch: Batch) -> Made:
        """See `Head`."""
        rows = pool(states, part.spans, self._poolings, batch.positions)
        good = finite(rows)
        if self._modules:
            for module in self._modules:
                rows = module(rows)
            good &= finite(rows)
        rows = rows.masked_fill(~good[:, None], 0.0)
        return Made(finish(rows, part.form), good)
