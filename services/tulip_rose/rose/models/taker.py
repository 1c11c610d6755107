"""`Taker`: from names in a checkpoint to layers on a device."""

import torch
from torch import Tensor

from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.linear import Activation, Linear
from tulip_rose.rose.layers.norm import Norm
from tulip_rose.rose.weights import Weights


class Taker:
    """Takes tensors by name, lays them on the device and builds layers of them."""

    def __init__(self, weights: Weights, kit: Kit, device: torch.device) -> None:
        self._weights = weights
        self._kit = kit
        self._device = device

    def __call__(self, name: str, *shape: int) -> Tensor:
        """A tensor of its own memory, so that the file can be closed."""
        return self._weights.take(name, shape).to(self._device, copy=True)

    def linear(self, names: list[str], out: int, into: int, activation: Activation = Activation.NONE) -> Linear:
        """Linear layers that read the same input, as one: weights [out · names, into] and their biases."""
        weight = torch.cat([self._weights.take(f"{name}.weight", (out, into)) for name in names])
        bias = torch.cat([self._weights.take(f"{name}.bias", (out,)) for name in names])
        return self._kit.linear(weight.to(self._device), bias.to(self._device), activation)

    def norm(self, name: str, size: int, epsilon: float) -> Norm:
        """A layer norm with weight and bias."""
        return self._kit.norm(self(f"{name}.weight", size), self(f"{name}.bias", size), epsilon)
