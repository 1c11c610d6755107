"""The layers of rotary models by our own kernels."""

import torch
from torch import Tensor
from torch.nn import functional

from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.layers.native import ACTIVATIONS, LANES, wide
from tulip_rose.rose.layers.rope import Heads, Turn
from tulip_rose.rose.native.library import Gated, Norm, Team, Turned, byref


class NativeRmsNorm:
    """See `Norm`."""

    def __init__(self, team: Team, weight: Tensor, epsilon: float) -> None:
        """Take a float32 weight."""
        self._team, self._kernels = team, team.kernels
        self._weight = weight.contiguous()
        self._norm = Norm(self._weight.data_ptr(), None, weight.shape[0], epsilon)

    def __call__(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        """See `Norm`."""
        out = torch.empty_like(x)
        other = None if plus is None else plus.data_ptr()
        self._kernels.rose_rms(
            self._team.address, wide(x.dtype), byref(self._norm), x.data_ptr(), other, x.shape[0], out.data_ptr()
        )
        return out


class NativeTurner:
    """See `Turner`."""

    def __init__(self, team: Team, heads: Heads) -> None:
        self._team, self._kernels = team, team.kernels
        self._weight = None if heads.weight is None else heads.weight.contiguous()
        address = None if self._weight is None else self._weight.data_ptr()
        self._turned = Turned(address, heads.queries + heads.keys, heads.size, heads.epsilon)

    def __call__(self, qkv: Tensor, turn: Turn) -> Tensor:
        """See `Turner`."""
        self._kernels.rose_turn(
            *(self._team.address, wide(qkv.dtype), byref(self._turned), qkv.data_ptr(), qkv.stride(0), qkv.shape[0]),
            *(turn.cos.data_ptr(), turn.sin.data_ptr()),
        )
        return qkv


class NativeGated:
    """See `Gated`."""

    def __init__(self, team: Team, weight: Tensor, bias: Tensor | None, activation: Activation) -> None:
        """Pack a weight [2 · out, in]; `in` is even in bfloat16."""
        self._team, self._kernels = team, team.kernels
        self._out = weight.shape[0] // 2
        own = _by_turns(weight)
        kind, (columns, into) = wide(weight.dtype), own.shape
        self._weight = torch.empty(self._kernels.rose_packed_size(kind, columns, into), dtype=weight.dtype)
        self._kernels.rose_pack(kind, own.data_ptr(), columns, into, self._weight.data_ptr())
        self._bias = None if bias is None else _by_turns(bias.float())
        address = None if self._bias is None else self._bias.data_ptr()
        self._gated = Gated(self._weight.data_ptr(), address, into, columns, self._out, ACTIVATIONS[activation])

    def __call__(self, x: Tensor) -> Tensor:
        """See `Gated`."""
        rows = x.shape[0]
        y = torch.empty((rows, self._out), dtype=x.dtype)
        self._kernels.rose_gated(
            *(self._team.address, wide(x.dtype), byref(self._gated), x.data_ptr(), x.stride(0), rows, y.data_ptr())
        )
        return y


def _by_turns(both: Tensor) -> Tensor:
    """[2 · out, …] with sixteen rows of the first half, then sixteen of the second, and so on; zeros at the end."""
    halves = both.unflatten(0, (2, -1)).transpose(0, 1)
    missing = -halves.shape[0] % LANES
    filled = functional.pad(halves, (0, 0) * (halves.dim() - 1) + (0, missing))
    taken: Tensor = filled.unflatten(0, (-1, LANES)).transpose(1, 2).flatten(0, 2).contiguous()
    return taken
