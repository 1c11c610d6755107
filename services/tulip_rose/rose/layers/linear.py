"""Linear layers over packed tokens, with weights laid out for the device once, at load.

On CPU oneDNN's packed weights are used with fused epilogues (activation, or the add of a residual): 1.1 to 1.7 times
the speed of `torch.nn.functional.linear` for 16 to 1024 tokens, in float32 and bfloat16.
"""

from collections.abc import Callable
from enum import Enum
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional


class Activation(Enum):
    """What may follow a linear layer; the values are the names in `config.json`."""

    NONE = "none"
    GELU = "gelu"
    """With the error function."""
    GELU_TANH = "gelu_pytorch_tanh"
    RELU = "relu"
    SILU = "silu"


PLAIN: dict[Activation, Callable[[Tensor], Tensor]] = {
    Activation.NONE: lambda x: x,
    Activation.GELU: functional.gelu,
    Activation.GELU_TANH: lambda x: functional.gelu(x, approximate="tanh"),
    Activation.RELU: functional.relu,
    Activation.SILU: functional.silu,
}
"""Each activation as a function of its own."""
# Not ReLU: the fused one makes 0 of what is not a number, and the row would no longer be found to be broken.
_FUSED: dict[Activation, tuple[str, list[float], str]] = {
    Activation.NONE: ("none", [], ""),
    Activation.GELU: ("gelu", [], "none"),
    Activation.GELU_TANH: ("gelu", [], "tanh"),
    Activation.SILU: ("swish", [], ""),
}


class Linear(Protocol):
    """`activation(x Wᵀ + b)`, or `x Wᵀ + b + residual`."""

    def __call__(self, x: Tensor) -> Tensor:
        """[T, in] → [T, out]; rows of x are contiguous."""

    def add(self, x: Tensor, residual: Tensor) -> Tensor:
        """[T, in] and a residual [T, out], contiguous, whose memory it may take → [T, out], without activation."""


class TorchLinear:
    """See `Linear`."""

    def __init__(self, weight: Tensor, bias: Tensor | None, activation: Activation = Activation.NONE) -> None:
        """Take a weight [out, in] and a bias [out]."""
        self._packed = weight.device.type == "cpu" and torch.backends.mkldnn.is_available()
        self._narrow = weight.dtype if self._packed and not _multiplies(weight.dtype) else None
        if self._narrow:
            weight = weight.float()
        self._bias = None if bias is None else bias.to(weight.dtype)
        self._activation = activation
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None) if self._packed else weight

    def __call__(self, x: Tensor) -> Tensor:
        """See `Linear`."""
        return self._of(x.float()).to(self._narrow) if self._narrow else self._of(x)

    def _of(self, x: Tensor) -> Tensor:
        if not self._packed:
            return PLAIN[self._activation](functional.linear(x, self._weight, self._bias))
        fused = self._activation if self._activation in _FUSED else Activation.NONE
        y: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._weight, self._bias, *_FUSED[fused])
        return y if fused is self._activation else PLAIN[self._activation](y)

    def add(self, x: Tensor, residual: Tensor) -> Tensor:
        """See `Linear`."""
        return self._added(x.float(), residual.float()).to(self._narrow) if self._narrow else self._added(x, residual)

    def _added(self, x: Tensor, residual: Tensor) -> Tensor:
        if self._packed:
            y: Tensor = torch.ops.mkldnn._linear_pointwise.binary(x, residual, self._weight, self._bias, "add")
            return y
        return functional.linear(x, self._weight, self._bias).add_(residual)


def _multiplies(dtype: torch.dtype) -> bool:
    """Whether oneDNN multiplies this type on this processor: bfloat16 only with AVX-512 or AVX-NE-CONVERT.

    Elsewhere such a product is float32's, of weights that are float32 in memory: torch's own takes five times as long.
    """
    return dtype is not torch.bfloat16 or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
