"""The wide half of a gated feed-forward: `activation(gate) · up`."""

from typing import Protocol

from torch import Tensor

from tulip_rose.rose.layers.linear import PLAIN, Activation, Linear


class Gated(Protocol):
    """Two linear layers over the same rows, one of which lets the other through."""

    def __call__(self, x: Tensor) -> Tensor:
        """[T, in] → [T, out]; rows of x are contiguous."""


class TorchGated:
    """See `Gated`."""

    def __init__(self, both: Linear, activation: Activation) -> None:
        """Take both layers as one: gate above, up below, [2 · out, in]."""
        self._both, self._activate = both, PLAIN[activation]

    def __call__(self, x: Tensor) -> Tensor:
        """See `Gated`."""
        gate, up = self._both(x).chunk(2, dim=1)
        return self._activate(gate) * up
