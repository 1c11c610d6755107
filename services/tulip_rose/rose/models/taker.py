"""`Taker`: from names in a checkpoint to layers on a device."""

import torch
from torch import Tensor

from tulip_rose.rose.layers.gated import Gated
from tulip_rose.rose.layers.kit import Kit, NativeKit
from tulip_rose.rose.layers.linear import Activation, Linear
from tulip_rose.rose.layers.norm import Norm
from tulip_rose.rose.weights import Weights


class Taker:
    """Takes tensors by name, lays them on the device and builds layers of them."""

    def __init__(self, weights: Weights, kit: Kit, device: torch.device) -> None:
        self._weights = weights
        self._kit = kit
        self._device = device
        self._dtype = torch.float32 if isinstance(kit, NativeKit) else weights.dtype

    def __call__(self, name: str, *shape: int) -> Tensor:
        """A tensor of its own memory, so that the file can be closed."""
        return self._weights.take(name, shape).to(self._device, copy=True)

    def precise(self, name: str, *shape: int) -> Tensor:
        """As a call, for biases and norms: in float32 for our kernels, beside whatever weights."""
        return self._weights.take(name, shape, self._dtype).to(self._device, copy=True)

    def linear(
        self, names: list[str], out: int, into: int, activation: Activation = Activation.NONE, *, bias: bool = True
    ) -> Linear:
        """Linear layers that read the same input, as one: weights [out · names, into] and their biases."""
        return self.packed([(name, out) for name in names], into, activation, bias=bias)

    def packed(
        self, parts: list[tuple[str, int]], into: int, activation: Activation = Activation.NONE, *, bias: bool
    ) -> Linear:
        """As `linear`, for layers of different widths: each a name and its width."""
        return self._kit.linear(*self._cat(parts, into, bias=bias), activation)

    def gated(self, names: list[str], inner: int, into: int, activation: Activation, *, bias: bool) -> Gated:
        """A gate and what it lets through, [inner, into] each; under one name where the file has them as one."""
        parts = [(name, 2 * inner // len(names)) for name in names]
        return self._kit.gated(*self._cat(parts, into, bias=bias), activation)

    def norm(self, name: str, size: int, epsilon: float, *, bias: bool = True) -> Norm:
        """A layer norm with weight and, where it has one, bias; gamma and beta in old checkpoints."""
        weight = self.precise(self._weights.spelling(f"{name}.weight", f"{name}.gamma"), size)
        added = self.precise(self._weights.spelling(f"{name}.bias", f"{name}.beta"), size) if bias else None
        return self._kit.norm(weight, added, epsilon)

    def rms_norm(self, name: str, size: int, epsilon: float, plus: float = 0.0) -> Norm:
        """A norm by the root of the mean square; `plus` is added to its weight, as families do that store it so."""
        return self._kit.rms_norm(self.precise(f"{name}.weight", size).float() + plus, epsilon)

    def _cat(self, parts: list[tuple[str, int]], into: int, *, bias: bool) -> tuple[Tensor, Tensor | None]:
        weight = torch.cat([self._weights.take(f"{name}.weight", (out, into)) for name, out in parts])
        if not bias:
            return weight.to(self._device), None
        biases = torch.cat([self._weights.take(f"{name}.bias", (out,), self._dtype) for name, out in parts])
        return weight.to(self._device), biases.to(self._device)
