"""Activations of rows, alone or times another half of the row, as one kernel in float32."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from tulip_rose.rose.kernels.launch import part_of_row, parts
from tulip_rose.rose.layers.linear import Activation

_ROOT_HALF = tl.constexpr(0.5**0.5)
_TANH = tl.constexpr(-2 * (2 / torch.pi) ** 0.5)


@triton.jit
def _activated(x: tl.tensor, kind: tl.constexpr) -> tl.tensor:
    if kind == "gelu":
        x = 0.5 * x * (1.0 + tl.erf(x * _ROOT_HALF))
    elif kind == "gelu_pytorch_tanh":
        # (1 + tanh(u)) / 2 is the logistic function of 2 u.
        x = x / (1.0 + tl.exp((x + 0.044715 * x * x * x) * _TANH))
    elif kind == "silu":
        x = x / (1.0 + tl.exp(-x))
    elif kind == "relu":
        # Not the larger of both: what is not a number stays so.
        x = tl.where(x < 0.0, 0.0, x)
    return x


@triton.jit
def _activate(
    x: tl.tensor, out: tl.tensor, width: tl.constexpr, block: tl.constexpr, kind: tl.constexpr, gated: tl.constexpr
) -> None:
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * block + tl.arange(0, block)
    inside = at < width
    source = x + row * (2 * width if gated else width) + at
    y = _activated(tl.load(source, mask=inside, other=0.0).to(tl.float32), kind)
    if gated:
        y *= tl.load(source + width, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + at, y, mask=inside)


def activate(x: Tensor, activation: Activation) -> Tensor:
    """Activate [T, width], contiguous, in its own memory."""
    return _launch(x, x, activation, gated=False)


def let_through(both: Tensor, activation: Activation) -> Tensor:
    """`activation(gate) · up` of [T, 2 · out], contiguous, the gate first → [T, out]."""
    out = torch.empty((both.shape[0], both.shape[1] // 2), dtype=both.dtype, device=both.device)
    return _launch(both, out, activation, gated=True)


def _launch(x: Tensor, out: Tensor, activation: Activation, *, gated: bool) -> Tensor:
    rows, width = out.shape
    line = part_of_row(width)
    _activate[(rows, parts(width, line.block))](
        x, out, width=width, block=line.block, kind=activation.value, gated=gated, num_warps=line.warps
    )
    return out
