"""Norms over the last axis."""

from typing import Protocol

from torch import Tensor
from torch.nn import functional


class Norm(Protocol):
    """A norm of each row."""

    def __call__(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        """[T, H], and what is added to it first → [T, H]; contiguous."""


class TorchNorm:
    """Layer normalisation with weight and optional bias, both [H]. See `Norm`."""

    def __init__(self, weight: Tensor, bias: Tensor | None, epsilon: float) -> None:
        self._shape = tuple(weight.shape)
        self._weight, self._bias, self._epsilon = weight, bias, epsilon

    def __call__(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        """See `Norm`."""
        x = x if plus is None else x + plus
        return functional.layer_norm(x, self._shape, self._weight, self._bias, self._epsilon)
