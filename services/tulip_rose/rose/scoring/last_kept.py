"""`LastKeptHead`: rows of the last token of each span that is no padding. Decoders' classifiers read it so."""

from dataclasses import replace

import torch
from torch import Tensor

from tulip_rose.rose.inputs import Inputs, Part
from tulip_rose.rose.layers.head import Made, made_of, rows_needs
from tulip_rose.rose.plan.heads import HeadNeeds, StepSize, bounds_bytes
from tulip_rose.rose.rows.row_module import RowModule

_OF_A_TOKEN = 40
"""Bytes: places, those that are kept, and what was the last of them, all int64."""


class LastKeptHead:
    """See `Head`. Of a span of nothing but padding, the first token."""

    def __init__(self, padding: int, rows: tuple[RowModule, ...]) -> None:
        """Take the id that stands for padding, and the modules that rows go through."""
        self._padding, self._modules = padding, rows

    def __call__(self, states: Tensor, part: Part, inputs: Inputs) -> Made:
        """See `Head`."""
        rows = states[last_kept(inputs.token_ids, part.placed, self._padding)].float()
        return made_of(rows, self._modules, part.form)

    def needs(self, step: StepSize) -> HeadNeeds:
        """See `Head`."""
        made = rows_needs(step.spans, step.hidden, self._modules)
        device, pinned = made.device + _OF_A_TOKEN * step.tokens, made.pinned + bounds_bytes(step.spans)
        return replace(made, device=device, pinned=pinned)


def last_kept(token_ids: Tensor, bounds: Tensor, padding: int) -> Tensor:
    """Where the last token of each span is that is not `padding`; where there is none, where the span begins.

    Args:
        token_ids: int64 [T].
        bounds: int32 [R, 2], begin and end.
        padding: an id.

    Returns:
        int64 [R].
    """
    places = torch.arange(token_ids.shape[0], device=token_ids.device)
    kept = torch.where(token_ids == padding, -1, places).cummax(0).values
    begins, ends = bounds.long().unbind(1)
    return torch.maximum(kept[ends - 1], begins)
