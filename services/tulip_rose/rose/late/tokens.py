"""`TokensHead`: the vector of each token alone."""

from torch import Tensor

from tulip_rose.rose.batch import Batch, Part
from tulip_rose.rose.layers.head import Made
from tulip_rose.rose.output import finish, finite
from tulip_rose.rose.rows.row_module import RowModule


class TokensHead:
    """Takes the state of each token through modules. See `Head`; every span is one token."""

    def __init__(self, modules: tuple[RowModule, ...]) -> None:
        self._modules = modules

    def __call__(self, states: Tensor, part: Part, batch: Batch) -> Made:
        """See `Head`."""
        rows = states[part.bounds[:, 0].to(states.device)].float()
        for module in self._modules:
            rows = module(rows)
        good = finite(rows)
        return Made(finish(rows.masked_fill(~good[:, None], 0.0), part.form), good)
