"""`TritonHead`: dense rows of spans whose bounds are a tensor; one kernel where a row is the state of one token."""

from dataclasses import replace

from torch import Tensor

from tulip_rose.rose.inputs import Inputs, Part
from tulip_rose.rose.kernels.finish import finish_rows
from tulip_rose.rose.kernels.pool import PICKED, pool_spans
from tulip_rose.rose.layers.head import Made, pooled_needs
from tulip_rose.rose.output import finite
from tulip_rose.rose.plan.heads import HeadNeeds, StepSize, bounds_bytes
from tulip_rose.rose.pooling_words import Poolings
from tulip_rose.rose.rows.row_module import RowModule


class TritonHead:
    """See `Head`."""

    def __init__(self, poolings: Poolings, rows: tuple[RowModule, ...] = ()) -> None:
        """Take what the rows are pooled by, and the modules that they go through; maybe none."""
        self._poolings, self._modules = poolings, rows
        alone = len(poolings) == 1 and not rows
        self._pick = PICKED.get(poolings[0]) if alone else None

    def __call__(self, states: Tensor, part: Part, inputs: Inputs) -> Made:
        """See `Head`."""
        bounds = part.placed
        if self._pick is not None:
            return finish_rows(states, part.form, bounds=bounds, pick=self._pick)
        rows = pool_spans(states, bounds, self._poolings, inputs.positions)
        good = self._known(rows)
        for module in self._modules:
            rows = module(rows)
        return finish_rows(rows.contiguous(), part.form, good=good)

    def needs(self, step: StepSize) -> HeadNeeds:
        """See `Head`."""
        made = pooled_needs(step, self._poolings, self._modules)
        return replace(made, pinned=made.pinned + bounds_bytes(step.spans))

    def _known(self, rows: Tensor) -> Tensor | None:
        """Which rows are finite before the modules: a bounded activation can make something finite of one."""
        return finite(rows) if self._modules else None
