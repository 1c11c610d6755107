"""From pooled rows to what was asked, as one kernel: cut, then normalised, then quantised. See `output.finish`."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from tulip_rose.rose.kernels.launch import whole_row
from tulip_rose.rose.kernels.pool import FIRST, LAST
from tulip_rose.rose.layers.head import Made
from tulip_rose.sequence import OutputForm, VectorType

_DTYPES = {VectorType.FLOAT32: torch.float32, VectorType.INT8: torch.int8, VectorType.BINARY: torch.uint8}
_BITS = 8
_FIRST, _LAST = tl.constexpr(FIRST), tl.constexpr(LAST)
_LEAST = tl.constexpr(1e-12)
"""That a row is divided by."""
_WHOLE = tl.constexpr(1.5 * 2**23)
"""In float32 what is added to it becomes whole, the nearest even."""


@triton.jit
def _rounded(x: tl.tensor) -> tl.tensor:
    """`round(127 · tanh(x))` in int8; it stays between −127 and 127."""
    fading = tl.exp(-2.0 * tl.abs(x))
    y = 127.0 * (1.0 - fading) / (1.0 + fading)
    y = (y + _WHOLE) - _WHOLE
    return tl.where(x < 0.0, -y, y).to(tl.int8)


@triton.jit
def _finish(
    rows: tl.tensor,
    bounds: tl.tensor,
    good: tl.tensor,
    out: tl.tensor,
    finite: tl.tensor,
    width: tl.constexpr,
    kept: tl.constexpr,
    block: tl.constexpr,
    bits: tl.constexpr,
    form: tl.constexpr,
    unit: tl.constexpr,
    pick: tl.constexpr,
) -> None:
    span = tl.program_id(0).to(tl.int64)
    row = span
    if pick == _FIRST:
        row = tl.load(bounds + 2 * span).to(tl.int64)
    if pick == _LAST:
        row = tl.load(bounds + 2 * span + 1).to(tl.int64) - 1
    source = rows + row * width
    at = tl.arange(0, block)
    x = tl.load(source + at, mask=at < width, other=0.0).to(tl.float32)
    broken = tl.max(tl.where(tl.abs(x) < float("inf"), 0, 1), axis=0)
    if good is not None:
        broken = tl.where(tl.load(good + span) != 0, broken, 1)
    tl.store(finite + span, broken == 0)
    inside = at < kept
    x = tl.where(inside & (broken == 0), x, 0.0)
    if form == "float32":
        if unit:
            x = x / tl.maximum(tl.sqrt(tl.sum(x * x, axis=0)), _LEAST)
        tl.store(out + span * kept + at, x, mask=inside)
    elif form == "int8":
        tl.store(out + span * kept + at, _rounded(x), mask=inside)
    else:
        byte = tl.arange(0, block // bits)
        bit = tl.arange(0, bits)
        column = byte[:, None] * bits + bit[None, :]
        x = tl.load(source + column, mask=(column < kept) & (broken == 0), other=0.0).to(tl.float32)
        packed = tl.sum(((x >= 0.0) & (column < kept)).to(tl.int32) << bit[None, :], axis=1)
        size: tl.constexpr = (kept + bits - 1) // bits
        tl.store(out + span * size + byte, packed.to(tl.uint8), mask=byte < size)


def finish_rows(
    rows: Tensor, form: OutputForm, *, bounds: Tensor | None = None, pick: str = "", good: Tensor | None = None
) -> Made:
    """Give rows a form; those that are not finite count as zeros.

    Args:
        rows: [R, H] of any floating type, contiguous; or states [T, H], of which rows are picked.
        form: dimensions at most H.
        bounds: int32 [R, 2], contiguous, where rows are picked.
        pick: FIRST or LAST token of each span; empty: rows come one after the other.
        good: bool [R]: which rows were finite before; None: all.
    """
    count = rows.shape[0] if bounds is None else bounds.shape[0]
    binary = form.vector_type is VectorType.BINARY
    values = -(-form.dimensions // _BITS) if binary else form.dimensions
    out = torch.empty((count, values), dtype=_DTYPES[form.vector_type], device=rows.device)
    finite = torch.empty(count, dtype=torch.bool, device=rows.device)
    line = whole_row(max(_BITS, rows.shape[1]))
    _finish[(count,)](
        *(rows, bounds, good, out, finite),
        width=rows.shape[1],
        kept=form.dimensions,
        block=line.block,
        bits=_BITS,
        form=form.vector_type.value,
        unit=form.normalize,
        pick=pick,
        num_warps=line.warps,
    )
    return Made(out, finite)
