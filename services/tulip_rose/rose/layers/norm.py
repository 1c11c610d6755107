"""Norms over the last axis."""

from typing import Protocol

import torch
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


class TorchRmsNorm:
    """Division by the root of the mean square, in float32, then a weight [H]. See `Norm`."""

    def __init__(self, weight: Tensor, epsilon: float) -> None:
        """Take the weight in float32: `1 + w` of some families has no room in bfloat16."""
        self._weight, self._epsilon = weight, epsilon

    def __call__(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        """See `Norm`."""
        x = x if plus is None else x + plus
        return rms(x.float(), self._weight, self._epsilon).to(x.dtype)


def rms(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Rows of the last axis, in float32, by the root of their mean square, times a weight."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon) * weight
