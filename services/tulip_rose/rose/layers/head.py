"""From the last states of a model to the rows that were asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from tulip_rose.rose import lazy
from tulip_rose.rose.batch import Batch, Part
from tulip_rose.rose.output import finish, finite
from tulip_rose.rose.pooling import pool
from tulip_rose.rose.pooling_words import Poolings
from tulip_rose.rose.rows.row_module import RowModule
from tulip_rose.sequence import OutputForm


@dataclass(frozen=True, slots=True)
class Made:
    """The rows of one part; those that are not finite are zeros."""

    rows: Tensor
    """[R, values or packed bytes]; of unequal size: their bytes, uint8, one after the other."""
    finite: Tensor
    """bool [R]."""
    starts: Tensor | None = None
    """int64 [R + 1], where rows are of unequal size: where each begins and the last one ends."""


def fetched(made: Made, fetch: Callable[[Tensor], Tensor]) -> Made:
    """The same rows on their way to memory of the host, which `fetch` copies each tensor to."""
    return Made(fetch(made.rows), fetch(made.finite), None if made.starts is None else fetch(made.starts))


def part_of(made: Made) -> lazy.Part:
    """The same rows, as they lie in host memory."""
    return lazy.Part(made.rows.numpy(), made.finite.numpy(), None if made.starts is None else made.starts.numpy())


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
        return made_of(pool(states, part.spans, self._poolings, batch.positions), self._modules, part.form)


def made_of(rows: Tensor, modules: tuple[RowModule, ...], form: OutputForm) -> Made:
    """Take rows through modules and give them a form.

    A row counts as broken by what goes into the modules too: a bounded activation can make something finite of it.

    Args:
        rows: float32 [R, in].
        modules: one after the other; maybe none.
        form: what was asked.
    """
    good = finite(rows)
    if modules:
        for module in modules:
            rows = module(rows)
        good &= finite(rows)
    return Made(finish(rows.masked_fill(~good[:, None], 0.0), form), good)
