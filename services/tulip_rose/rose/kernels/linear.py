"""`TritonLinear` and `TritonGated`: the vendor's product of matrices, and what follows it."""

from torch import Tensor
from torch.nn import functional

from tulip_rose.rose.kernels.activate import activate, let_through
from tulip_rose.rose.layers.linear import Activation


class TritonLinear:
    """See `Linear`. Without a bias `add` takes the memory of the residual: the product is added as it is made."""

    def __init__(self, weight: Tensor, bias: Tensor | None, activation: Activation) -> None:
        """Take a weight [out, in] and a bias [out]."""
        self._weight, self._bias, self._activation = weight, bias, activation

    def __call__(self, x: Tensor) -> Tensor:
        """See `Linear`."""
        y = functional.linear(x, self._weight, self._bias)
        return y if self._activation is Activation.NONE else activate(y, self._activation)

    def add(self, x: Tensor, residual: Tensor) -> Tensor:
        """See `Linear`."""
        if self._bias is None:
            return residual.addmm_(x, self._weight.t())
        return functional.linear(x, self._weight, self._bias).add_(residual)


class TritonGated:
    """See `Gated`."""

    def __init__(self, weight: Tensor, bias: Tensor | None, activation: Activation) -> None:
        """Take both layers as one: gate above, up below, [2 · out, in]."""
        self._weight, self._bias, self._activation = weight, bias, activation

    def __call__(self, x: Tensor) -> Tensor:
        """See `Gated`."""
        return let_through(functional.linear(x, self._weight, self._bias), self._activation)
