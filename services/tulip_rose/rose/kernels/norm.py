"""`TritonNorm`: an add and a norm of each row as one kernel, in float32 from the first value to the last."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from tulip_rose.rose.kernels.launch import whole_row


@triton.jit
def normed(
    x: tl.tensor,
    weight: tl.tensor,
    bias: tl.tensor,
    at: tl.tensor,
    inside: tl.tensor,
    epsilon: tl.tensor,
    size: tl.constexpr,
    root: tl.constexpr,
) -> tl.tensor:
    """The norm of one row in float32, which has zeros where it is not inside; part of other kernels too."""
    if not root:
        x = tl.where(inside, x - tl.sum(x, axis=0) / size, 0.0)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / size + epsilon)
    y *= tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    if bias is not None:
        y += tl.load(bias + at, mask=inside, other=0.0).to(tl.float32)
    return y


@triton.jit
def _norm(
    x: tl.tensor,
    plus: tl.tensor,
    weight: tl.tensor,
    bias: tl.tensor,
    out: tl.tensor,
    epsilon: tl.tensor,
    size: tl.constexpr,
    block: tl.constexpr,
    root: tl.constexpr,
) -> None:
    at = tl.arange(0, block)
    inside = at < size
    row = tl.program_id(0).to(tl.int64) * size
    value = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
    if plus is not None:
        value += tl.load(plus + row + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row + at, normed(value, weight, bias, at, inside, epsilon, size, root), mask=inside)


class TritonNorm:
    """See `Norm`."""

    def __init__(self, weight: Tensor, bias: Tensor | None, epsilon: float, *, root: bool) -> None:
        """Take weight and bias [H]; `root`: by the root of the mean square, without taking the mean off before."""
        self.weight, self.bias, self.epsilon, self.root = weight.contiguous(), bias, epsilon, root
        self.size = weight.shape[0]
        self.line = whole_row(self.size)

    def __call__(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        """See `Norm`."""
        out = torch.empty_like(x)
        _norm[(x.shape[0],)](
            *(x, plus, self.weight, self.bias, out, self.epsilon),
            size=self.size,
            block=self.line.block,
            root=self.root,
            num_warps=self.line.warps,
        )
        return out
