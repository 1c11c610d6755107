"""`TokensHead`: the vector of each token alone."""

from dataclasses import replace

from torch import Tensor

from tulip_rose.rose.inputs import Inputs, Part
from tulip_rose.rose.layers.head import Made, made_of, rows_needs
from tulip_rose.rose.plan.heads import HeadNeeds, StepSize, bounds_bytes
from tulip_rose.rose.rows.row_module import RowModule


class TokensHead:
    """Takes the state of each token through modules. See `Head`; every span is one token."""

    def __init__(self, modules: tuple[RowModule, ...]) -> None:
        self._modules = modules

    def __call__(self, states: Tensor, part: Part, inputs: Inputs) -> Made:
        """See `Head`."""
        return made_of(states[part.placed[:, 0]].float(), self._modules, part.form)

    def needs(self, step: StepSize) -> HeadNeeds:
        """See `Head`; all tokens may be asked for."""
        made = rows_needs(step.tokens, step.hidden, self._modules)
        states = step.tokens * step.hidden * step.value_bytes
        return replace(made, device=made.device + states, pinned=made.pinned + bounds_bytes(step.tokens))
