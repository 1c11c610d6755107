"""The padding law: how a batch of any size lies in buffers of the sizes of a key. Knows no device.

Real tokens first, then one sequence that owns all pad rows, then empty slots that repeat the last offset, so that
`cu_seqlens[slots] == tokens` always. Rows that no sequence owns would read memory that nobody has written, and a tile
of a kernel that loads them turns 0 · NaN into NaN in a neighbour. Everything that a step may read is written each time:
nothing is left of a longer batch before.
"""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tulip_rose.rose.batch import Batch, Part, Ragged
from tulip_rose.rose.graphs.key import Key

PAD = 0
"""The id of pad rows: every vocabulary has it."""
WIDE, NARROW = 3, 4
"""Values a token of the int64 buffer, and a slot of the int32 buffer; the latter has one more."""

A = TypeVar("A", NDArray[Any], Tensor)


@dataclass(frozen=True, slots=True)
class Fields(Generic[A]):
    """What a step reads, as views of two flat buffers: one copy to the device each."""

    token_ids: A
    """int64 [tokens]."""
    positions: A
    """int64 [tokens]; 0 in pad rows."""
    token_types: A
    """int64 [tokens]."""
    cu_seqlens: A
    """int32 [slots + 1]."""
    seen: A
    """int32 [slots]: how many tokens of each sequence are seen, the first ones."""
    bounds: A
    """int32 [slots, 2]: begin and end of each span to pool; (0, 1) where there is none."""

    @classmethod
    def of(cls, wide: A, narrow: A, key: Key) -> "Fields[A]":
        """Views for a key; the buffers are int64 and int32, and hold at least `sizes(key)` values."""
        tokens, slots = key.tokens, key.slots
        return cls(
            token_ids=wide[:tokens],
            positions=wide[tokens : 2 * tokens],
            token_types=wide[2 * tokens : 3 * tokens],
            cu_seqlens=narrow[: slots + 1],
            seen=narrow[slots + 1 : 2 * slots + 1],
            bounds=narrow[2 * slots + 1 : 4 * slots + 1].reshape(slots, 2),
        )


def sizes(key: Key) -> tuple[int, int]:
    """Values of both buffers that belong to a key."""
    return WIDE * key.tokens, NARROW * key.slots + 1


def fill(fields: Fields[NDArray[Any]], batch: Batch, pooled: Part | None) -> None:
    """Write a batch that fits: with pads it has fewer sequences than there are slots.

    Args:
        fields: all is written.
        batch: on the host.
        pooled: the part whose spans the step pools, no more than there are slots; None: it pools none.
    """
    ragged = batch.ragged
    _fill(fields.token_ids, batch.token_ids.numpy(), PAD)
    _fill(fields.positions, batch.positions.numpy(), 0)
    if batch.token_types is None:
        fields.token_types[:] = 0
    else:
        _fill(fields.token_types, batch.token_types.numpy(), 0)
    _fill(fields.cu_seqlens, ragged.starts.numpy(), fields.token_ids.shape[0])
    np.subtract(fields.cu_seqlens[1:], fields.cu_seqlens[:-1], out=fields.seen)
    if ragged.partly_seen:
        fields.seen[: ragged.starts.shape[0] - 1] = _seen(ragged)
    spans = 0 if pooled is None else pooled.bounds.shape[0]
    if pooled is not None:
        fields.bounds[:spans] = pooled.bounds.numpy()
    fields.bounds[spans:] = (0, 1)


def _fill(target: NDArray[Any], values: NDArray[Any], rest: int) -> None:
    count = values.shape[0]
    target[:count] = values
    target[count:] = rest


def _seen(ragged: Ragged) -> NDArray[np.int64]:
    """Of each sequence, where some have tokens that none sees."""
    seen = [count for _, count in ragged.partly_seen]
    return np.repeat(seen, [group.count for group, _ in ragged.partly_seen])
