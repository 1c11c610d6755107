"""`TokensHead`: the vector of each token alone."""

from torch import Tensor

from tulip_rose.rose.batch import Batch, Part
from tulip_rose.rose.layers.head import Made, made_of
from tulip_rose.rose.rows.row_module import RowModule


class TokensHead:
    """Takes the state of each token through modules. See `Head`; every span is one token."""

    def __init__(self, modules: tuple[RowModule, ...]) -> None:
        self._modules = modules

    def __call__(self, states: Tensor, part: Part, batch: Batch) -> Made:
        """See `Head`."""
        tokens = part.bounds[:, 0].to(states.device, non_blocking=True)
        return made_of(states[tokens].float(), self._modules, part.form)
