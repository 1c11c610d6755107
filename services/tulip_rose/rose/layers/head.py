"""From the last states of a model to the rows that were asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from tulip_rose.rose import lazy
from tulip_rose.rose.inputs import Inputs, Part
from tulip_rose.rose.output import finish, finite
from tulip_rose.rose.plan.heads import FLOAT32, HeadNeeds, StepSize, results_bytes, rows_bytes
from tulip_rose.rose.pooling import pool
from tulip_rose.rose.pooling_words import Poolings
from tulip_rose.rose.rows.row_module import RowModule
from tulip_rose.sequence import OutputForm


@dataclass(frozen=True, slots=True)
class Made:
    """The rows of one part; those that are not finite are zeros."""

    rows: Tensor
    """[R, values or packed bytes]; or whatever `later` takes."""
    finite: Tensor
    """bool [R]; or whatever `later` takes."""
    later: Callable[[lazy.Part], lazy.Part] | None = None
    """What the host makes rows of when these are in its memory; it keeps nothing of them. For rows of which nobody
    knows before how long they are: no device is waited for while a step is launched."""


def fetched(made: Made, fetch: Callable[[Tensor], Tensor]) -> Made:
    """The same rows on their way to memory of the host, which `fetch` copies each tensor to."""
    return Made(fetch(made.rows), fetch(made.finite), made.later)


def part_of(made: Made) -> lazy.Part:
    """The same rows, as they lie in host memory."""
    part = lazy.Part(made.rows.numpy(), made.finite.numpy())
    return part if made.later is None else made.later(part)


def taken(made: Made) -> lazy.Part:
    """The same rows in memory of their own, so that theirs can be another's."""
    part = part_of(made)
    return lazy.Part(part.rows.copy(), part.finite.copy()) if made.later is None else part


class Head(Protocol):
    """Makes rows of one kind."""

    def __call__(self, states: Tensor, part: Part, inputs: Inputs) -> Made:
        """Rows of states [T, H]; the part is one of the inputs'."""

    def needs(self, step: StepSize) -> HeadNeeds:
        """What it takes in steps that are no larger than this one."""


class TorchHead:
    """Pools each span, takes the rows through modules and gives them the form that was asked. See `Head`."""

    def __init__(self, poolings: Poolings, rows: tuple[RowModule, ...] = ()) -> None:
        self._poolings = poolings
        self._modules = rows

    def __call__(self, states: Tensor, part: Part, inputs: Inputs) -> Made:
        """See `Head`."""
        return made_of(pool(states, part.spans, self._poolings, inputs.positions), self._modules, part.form)

    def needs(self, step: StepSize) -> HeadNeeds:
        """See `Head`."""
        return pooled_needs(step, self._poolings, self._modules)


def pooled_needs(step: StepSize, poolings: Poolings, modules: tuple[RowModule, ...]) -> HeadNeeds:
    """Of a head that pools spans, whatever it pools them with, and takes the rows through modules."""
    return rows_needs(step.spans, len(poolings) * step.hidden, modules)


def rows_needs(rows: int, width: int, modules: tuple[RowModule, ...]) -> HeadNeeds:
    """Of so many rows, float32 and of that width, that go through modules and get their form."""
    widths = [width, *(module.out for module in modules)]
    return HeadNeeds(
        device=rows_bytes(rows, width, max(widths)),
        pinned=results_bytes(rows * widths[-1] * FLOAT32, rows),
        held=sum(module.held for module in modules),
    )


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
