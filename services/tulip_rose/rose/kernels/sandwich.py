"""`TritonSandwich`: Gemma's block, in which a norm, an add and the next norm are one kernel."""

from typing import cast

import torch
import triton
import triton.language as tl
from torch import Tensor

from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.kernels.norm import TritonNorm, normed
from tulip_rose.rose.layers.rope import Turn
from tulip_rose.rose.layers.rotary import SandwichBlock


@triton.jit
def _between(
    x: tl.tensor,
    made: tl.tensor,
    before: tl.tensor,
    after: tl.tensor,
    total: tl.tensor,
    out: tl.tensor,
    before_epsilon: tl.tensor,
    after_epsilon: tl.tensor,
    size: tl.constexpr,
    block: tl.constexpr,
) -> None:
    at = tl.arange(0, block)
    inside = at < size
    row = tl.program_id(0).to(tl.int64) * size
    value = tl.load(made + row + at, mask=inside, other=0.0).to(tl.float32)
    value = normed(value, before, None, at, inside, before_epsilon, size, True)
    value += tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(total + row + at, value, mask=inside)
    if after is not None:
        tl.store(out + row + at, normed(value, after, None, at, inside, after_epsilon, size, True), mask=inside)


class TritonSandwich:
    """See `RotaryBlock`."""

    def __init__(self, parts: SandwichBlock) -> None:
        """Take parts whose norms are this kit's, by the root of the mean square."""
        self._parts = parts
        norms = (parts.attended_norm, parts.feed_norm, parts.fed_norm)
        self._attended, self._feed, self._fed = (cast(TritonNorm, norm) for norm in norms)

    def __call__(self, x: Tensor, ragged: Ragged, turn: Turn) -> Tensor:
        """See `RotaryBlock`."""
        own = self._parts
        made = own.out(own.attention(own.attention_norm(x), ragged, turn))
        ready = torch.empty_like(x)
        x = _join(x, made, self._attended, self._feed, ready)
        return _join(x, own.down(own.feed(ready)), self._fed)


def _join(
    x: Tensor, made: Tensor, before: TritonNorm, after: TritonNorm | None = None, out: Tensor | None = None
) -> Tensor:
    """`x + before(made)`, [T, H]; where a norm comes after it, that of the sum goes into `out`."""
    total = torch.empty_like(x)
    weight, epsilon = (None, 0.0) if after is None else (after.weight, after.epsilon)
    _between[(x.shape[0],)](
        *(x, made, before.weight, weight, total, out, before.epsilon, epsilon),
        size=before.size,
        block=before.line.block,
        num_warps=before.line.warps,
    )
    return total
