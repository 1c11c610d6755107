"""The layers on CPUs with AVX-512, by our own kernels.

A step on a CPU is a row of some forty small kernels. Each of these costs one call of a few microseconds, has no shape
that it must be made for, and its threads share parts so that none waits for one which the system has taken away.
"""

import torch
from torch import Tensor

from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.layers.attention import Attention, Mask
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.native.library import Heads, Layer, Norm, Team, byref

LANES = 16
ACTIVATIONS = {
    Activation.NONE: 0,
    Activation.GELU: 1,
    Activation.GELU_TANH: 2,
    Activation.RELU: 3,
    Activation.SILU: 4,
}
_UNSEEN = 2**40
"""Tokens to one side, more than any sequence has."""


def wide(dtype: torch.dtype) -> int:
    """How the kernels are told a dtype: 1 for float32, 0 for bfloat16."""
    return int(dtype == torch.float32)


def shape_of(heads: int, kv_heads: int, size: int, mask: Mask, scale: float) -> Heads:
    """How the kernels are told what attention is to be."""
    left, right = mask.window or (_UNSEEN, _UNSEEN)
    bias = mask.bias
    address, reach = (None, 0) if bias is None else (bias.by_distance.data_ptr(), bias.reach)
    return Heads(heads, heads // kv_heads, size, left, 0 if mask.causal else right, scale, address, reach)


class NativeLinear:
    """See `Linear`."""

    def __init__(self, team: Team, weight: Tensor, bias: Tensor | None, activation: Activation) -> None:
        """Pack a weight [out, in]; `in` is even in bfloat16."""
        self._team, self._kernels = team, team.kernels
        self._wide = wide(weight.dtype)
        self._out, into = weight.shape
        weight = weight.contiguous()
        packed = self._kernels.rose_packed_size(self._wide, self._out, into)
        self._weight = torch.empty(packed, dtype=weight.dtype)
        self._kernels.rose_pack(self._wide, weight.data_ptr(), self._out, into, self._weight.data_ptr())
        self._bias = None if bias is None else bias.float()
        address = None if self._bias is None else self._bias.data_ptr()
        at = self._weight.data_ptr()
        self.layer = Layer(at, address, into, self._out, ACTIVATIONS[activation])
        self._plain = Layer(at, address, into, self._out, ACTIVATIONS[Activation.NONE])

    def __call__(self, x: Tensor) -> Tensor:
        """See `Linear`."""
        return self._run(self.layer, x, None)

    def add(self, x: Tensor, residual: Tensor) -> Tensor:
        """See `Linear`."""
        return self._run(self._plain, x, residual.data_ptr())

    def _run(self, layer: Layer, x: Tensor, residual: int | None) -> Tensor:
        rows = x.shape[0]
        y = torch.empty((rows, self._out), dtype=x.dtype)
        self._kernels.rose_linear(
            self._team.address, self._wide, byref(layer), x.data_ptr(), x.stride(0), rows, residual, y.data_ptr()
        )
        return y


class NativeNorm:
    """See `Norm`."""

    def __init__(self, team: Team, weight: Tensor, bias: Tensor | None, epsilon: float) -> None:
        self._team, self._kernels = team, team.kernels
        self._weight = weight.float()
        self._bias = None if bias is None else bias.float()
        address = None if self._bias is None else self._bias.data_ptr()
        self.norm = Norm(self._weight.data_ptr(), address, weight.shape[0], epsilon)

    def __call__(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        """See `Norm`."""
        out = torch.empty_like(x)
        other = None if plus is None else plus.data_ptr()
        self._kernels.rose_norm(
            self._team.address, wide(x.dtype), byref(self.norm), x.data_ptr(), other, x.shape[0], out.data_ptr()
        )
        return out


class NativeAttention:
    """See `Attention`. Heads whose size is no multiple of 16 go to another backend, and tokens that none sees."""

    name = "native"

    def __init__(self, team: Team, other: Attention) -> None:
        self._team, self._kernels = team, team.kernels
        self._other = other

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, ragged: Ragged, mask: Mask, scale: float) -> Tensor:
        """See `Attention`."""
        rows, heads, size = q.shape
        if size % LANES or ragged.partly_seen:
            return self._other(q, k, v, ragged, mask, scale)
        out = torch.empty((rows, heads * size), dtype=q.dtype)
        shape = shape_of(heads, k.shape[1], size, mask, scale)
        starts = ragged.starts
        self._kernels.rose_attention(
            *(self._team.address, wide(q.dtype), byref(shape)),
            *(q.data_ptr(), q.stride(0), k.data_ptr(), k.stride(0), v.data_ptr(), v.stride(0)),
            *(starts.data_ptr(), starts.shape[0] - 1, ragged.longest, out.data_ptr()),
        )
        if rows > ragged.tokens:
            out[ragged.tokens :].zero_()
        return out
