"""The padding law: how a batch of any size lies in buffers of the sizes of a key. Knows no device.

Real tokens first, then one sequence that owns all pad rows, then empty slots that repeat the last offset, so that
`cu_seqlens[slots] == tokens` always. Rows that no sequence owns would read memory that nobody has written, and a tile
of a kernel that loads them turns 0 · NaN into NaN in a neighbour. Everything that a step may read is written each time:
nothing is left of a longer batch before.

`fill` is the law by numpy; `rose/native/lay.cpp` has it a second time, compiled (see `sheet`).
"""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tulip_rose.rose.batch import Asked, Batch
from tulip_rose.rose.graphs.key import Key
from tulip_rose.rose.graphs.layout import given_bytes, narrow_bytes

PAD = 0
"""The id of pad rows: every vocabulary has it."""
_NONE = np.zeros(0, np.int64)
_NO_SPANS = np.zeros((0, 2), np.int32)
_FIRST = np.array((0, 1), np.int32)
"""The bounds of no span: a row is made of them, and nobody gets it."""

A = TypeVar("A", NDArray[Any], Tensor)


@dataclass(frozen=True, slots=True)
class Fields(Generic[A]):
    """What a step reads, as views of one flat buffer, so that it takes a single copy to the device."""

    cu_seqlens: A
    """int32 [slots + 1]."""
    seen: A
    """int32 [slots]: how many tokens of each sequence are seen, the first ones."""
    bounds: A
    """int32 [slots, 2]: begin and end of each span to pool; (0, 1) where there is none."""
    token_ids: A
    """int64 [tokens]."""
    positions: A
    """int64 [tokens]; 0 in pad rows."""
    token_types: A
    """int64 [tokens]; last, since only some models read it."""

    @classmethod
    def of(cls, buffer: A, key: Key) -> "Fields[A]":
        """Views for a key of at least `given_bytes(key)` bytes, uint8."""
        tokens, slots, border = key.tokens, key.slots, narrow_bytes(key)
        narrow, wide = _typed(buffer[:border], "int32"), _typed(buffer[border : given_bytes(key)], "int64")
        return cls(
            cu_seqlens=narrow[: slots + 1],
            seen=narrow[slots + 1 : 2 * slots + 1],
            bounds=narrow[2 * slots + 1 : 4 * slots + 1].reshape(slots, 2),
            token_ids=wide[:tokens],
            positions=wide[tokens : 2 * tokens],
            token_types=wide[2 * tokens : 3 * tokens],
        )


def _typed(buffer: A, dtype: str) -> A:
    view: A = buffer.view(getattr(torch if isinstance(buffer, Tensor) else np, dtype))
    return view


def fill(fields: Fields[NDArray[Any]], batch: Batch, pooled: Asked | None, *, typed: bool = True) -> None:
    """Write a batch that fits: with pads it has fewer sequences than there are slots.

    Args:
        fields: all is written.
        batch: real tokens alone.
        pooled: the part whose spans the step pools, no more than there are slots; None: it pools none.
        typed: whether types of tokens are read; else they are not written.

    Raises:
        ValueError: the batch does not fit.
    """
    rows, slots = fields.token_ids.shape[0], fields.seen.shape[0]
    if batch.tokens > rows or batch.count + (batch.tokens < rows) > slots:
        raise too_many(batch, rows, slots)
    _fill(fields.token_ids, batch.token_ids, PAD)
    _fill(fields.positions, batch.positions, 0)
    if typed:
        _fill(fields.token_types, _NONE if batch.token_types is None else batch.token_types, 0)
    _fill(fields.cu_seqlens, batch.starts, rows)
    np.subtract(fields.cu_seqlens[1:], fields.cu_seqlens[:-1], out=fields.seen)
    if batch.partly is not None:
        fields.seen[: batch.partly.shape[0]] = batch.partly
    _fill(fields.bounds, _NO_SPANS if pooled is None else pooled.bounds, _FIRST)


def too_many(batch: Batch, rows: int, slots: int) -> ValueError:
    """The error of a batch that does not fit."""
    return ValueError(f"{batch.count} sequences of {batch.tokens} tokens do not fit {rows}x{slots}")


def _fill(target: NDArray[Any], values: NDArray[Any], rest: int | NDArray[Any]) -> None:
    count = values.shape[0]
    target[:count] = values
    target[count:] = rest
