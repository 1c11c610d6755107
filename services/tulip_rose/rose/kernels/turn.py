"""`TritonTurner`: queries and keys normed within their heads and turned by their positions, as one kernel."""

import triton
import triton.language as tl
from torch import Tensor

from tulip_rose.rose.kernels.launch import parts, some_heads
from tulip_rose.rose.layers.rope import Heads, Turn


@triton.jit
def _turn(
    qkv: tl.tensor,
    cos: tl.tensor,
    sin: tl.tensor,
    weight: tl.tensor,
    epsilon: tl.tensor,
    heads: tl.constexpr,
    half: tl.constexpr,
    width: tl.constexpr,
    high: tl.constexpr,
    wide: tl.constexpr,
) -> None:
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * high + tl.arange(0, high)
    pair = tl.arange(0, wide)
    inside = (head < heads)[:, None] & (pair < half)[None, :]
    at = head[:, None] * (2 * half) + pair[None, :]
    low = qkv + token * width + at
    first = tl.load(low, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(low + half, mask=inside, other=0.0).to(tl.float32)
    if weight is not None:
        square = tl.sum(first * first + second * second, axis=1) / (2 * half)
        scale = tl.rsqrt(square + epsilon)[:, None]
        first = first * scale * tl.load(weight + at, mask=inside, other=0.0)
        second = second * scale * tl.load(weight + at + half, mask=inside, other=0.0)
    angle = token * half + pair
    c = tl.load(cos + angle, mask=pair < half, other=0.0)[None, :]
    s = tl.load(sin + angle, mask=pair < half, other=0.0)[None, :]
    tl.store(low, first * c - second * s, mask=inside)
    tl.store(low + half, second * c + first * s, mask=inside)


class TritonTurner:
    """See `Turner`. Takes the memory of its input."""

    def __init__(self, heads: Heads) -> None:
        self._heads, self._weight = heads, None if heads.weight is None else heads.weight.contiguous()
        self._turned = heads.queries + heads.keys
        self._tile = some_heads(self._turned, heads.size)

    def __call__(self, qkv: Tensor, turn: Turn) -> Tensor:
        """See `Turner`."""
        heads, tile = self._heads, self._tile
        _turn[(qkv.shape[0], parts(self._turned, tile.high))](
            *(qkv, turn.cos, turn.sin, self._weight, heads.epsilon),
            heads=self._turned,
            half=heads.size // 2,
            width=heads.width,
            high=tile.high,
            wide=tile.wide,
            num_warps=tile.warps,
        )
        return qkv
