"""Pooling of spans whose bounds are a tensor: each in one order of float32 sums, whatever lies beside it."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from tulip_rose.rose.kernels.launch import parts, some_tokens
from tulip_rose.rose.pooling_words import Pooling, Poolings

FIRST, LAST = "first", "last"
PICKED = {Pooling.CLS: FIRST, Pooling.LAST_TOKEN: LAST}
"""Those that are the state of one token."""


@triton.jit
def _pool(
    states: tl.tensor,
    bounds: tl.tensor,
    positions: tl.tensor,
    out: tl.tensor,
    stride: tl.tensor,
    size: tl.constexpr,
    high: tl.constexpr,
    wide: tl.constexpr,
    kind: tl.constexpr,
) -> None:
    span = tl.program_id(0).to(tl.int64)
    begin = tl.load(bounds + 2 * span)
    end = tl.load(bounds + 2 * span + 1)
    column = tl.program_id(1) * wide + tl.arange(0, wide)
    there = column < size
    total = tl.full((high, wide), float("-inf") if kind == "max" else 0.0, tl.float32)
    broken = tl.zeros((high, wide), tl.int32)
    weights = tl.zeros((high,), tl.float32)
    for first in range(begin, end, high):
        token = first + tl.arange(0, high)
        inside = (token < end)[:, None] & there[None, :]
        at = token.to(tl.int64)[:, None] * size + column[None, :]
        x = tl.load(states + at, mask=inside, other=0.0).to(tl.float32)
        if kind == "max":
            total = tl.where(inside & (x > total), x, total)
            broken = tl.where(x != x, 1, broken)
        elif kind == "weightedMean":
            weight = tl.load(positions + token, mask=token < end, other=-1).to(tl.float32) + 1.0
            weights += weight
            total += x * weight[:, None]
        else:
            total += x
    length = (end - begin).to(tl.float32)
    if kind == "max":
        row = tl.where(tl.max(broken, axis=0) > 0, float("nan"), tl.max(total, axis=0))
    elif kind == "weightedMean":
        row = tl.sum(total, axis=0) / tl.sum(weights, axis=0)
    elif kind == "mean":
        row = tl.sum(total, axis=0) / length
    else:
        row = tl.sum(total, axis=0) / tl.sqrt(length)
    tl.store(out + span * stride + column, row, mask=there)


def pool_spans(states: Tensor, bounds: Tensor, poolings: Poolings, positions: Tensor) -> Tensor:
    """Pool each span into one row.

    Args:
        states: [T, H], contiguous, of any floating type.
        bounds: int32 [R, 2], contiguous, beside the states: begin and end of each span, which has a token at least.
        poolings: P of them, whose rows lie beside each other.
        positions: int64 [T], of each token within its sequence.

    Returns:
        float32 [R, P · H].
    """
    size = states.shape[1]
    rows = torch.empty((bounds.shape[0], len(poolings) * size), dtype=torch.float32, device=states.device)
    for pooling, out in zip(poolings, rows.split(size, dim=1), strict=True):
        if pooling in PICKED:
            out.copy_(states[picked(bounds, PICKED[pooling])])
        else:
            _launch(states, bounds, positions, out, pooling)
    return rows


def picked(bounds: Tensor, which: str) -> Tensor:
    """The first or the last token of each span, int32 [R]."""
    return bounds[:, 0] if which == FIRST else bounds[:, 1] - 1


def _launch(states: Tensor, bounds: Tensor, positions: Tensor, out: Tensor, pooling: Pooling) -> None:
    spans, size = out.shape
    tile = some_tokens(size)
    _pool[(spans, parts(size, tile.wide))](
        *(states, bounds, positions, out, out.stride(0)),
        size=size,
        high=tile.high,
        wide=tile.wide,
        kind=pooling.value,
        num_warps=tile.warps,
    )
