"""Norms over the last axis."""

from torch import Tensor
from torch.nn import functional


class LayerNorm:
    """Layer normalisation with weight and optional bias, both [H]."""

    def __init__(self, weight: Tensor, bias: Tensor | None, epsilon: float) -> None:
        self._shape = tuple(weight.shape)
        self._weight, self._bias, self._epsilon = weight, bias, epsilon

    def __call__(self, x: Tensor) -> Tensor:
        """[T, H] → [T, H]."""
        return functional.layer_norm(x, self._shape, self._weight, self._bias, self._epsilon)
