"""`Arena`: the static buffers of all keys, as one set of the size of the largest; `Frame`: the views of one key.

Two steps never run at once, so all keys share the memory, and more graphs take no more of it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tulip_rose.rose.batch import Batch, Part, Ragged
from tulip_rose.rose.graphs.device import GraphDevice
from tulip_rose.rose.graphs.key import Buckets, Key
from tulip_rose.rose.graphs.padding import Fields, fill, sizes
from tulip_rose.sequence import OutputForm, VectorType

_DTYPES = {VectorType.FLOAT32: torch.float32, VectorType.INT8: torch.int8, VectorType.BINARY: torch.uint8}
_BITS = 8


@dataclass(frozen=True, slots=True)
class Widths:
    """What a model adds to the sizes of steps."""

    hidden: int
    dtype: torch.dtype
    """Of states."""
    dimensions: int
    """Of the widest row."""
    longest: int
    """Positions that the model has."""
    typed: bool
    """Whether it tells types of tokens apart."""


def rows_of(memory: Tensor, form: OutputForm, count: int) -> Tensor:
    """The first rows of that form in memory, uint8: [count, values or packed bytes]."""
    dtype = _DTYPES[form.vector_type]
    width = -(-form.dimensions // _BITS) if form.vector_type is VectorType.BINARY else form.dimensions
    return memory[: count * width * dtype.itemsize].view(dtype).view(count, width)


@dataclass(frozen=True, slots=True)
class Frame:
    """Of one key: what its step reads and writes."""

    batch: Batch
    """Static tensors; of its sequences nothing is known but the tensors."""
    part: Part | None
    """Of rows of the key's form; None: states come out."""
    out: Tensor
    """Rows [slots, values or packed bytes], or states [tokens, hidden]."""
    finite: Tensor
    """bool [slots]."""


class Slot:
    """Pinned memory of one step in flight: what goes in and what comes out."""

    def __init__(self, device: GraphDevice, buckets: Buckets, widths: Widths) -> None:
        wide, narrow = sizes(_largest(buckets))
        slots = buckets.slots[-1]
        self.wide = device.empty(wide, torch.int64, pinned=True)
        self.narrow = device.empty(narrow, torch.int32, pinned=True)
        self.rows = device.empty(_row_bytes(buckets, widths), torch.uint8, pinned=True)
        self.finite = device.empty(slots, torch.bool, pinned=True)
        self._host = self.wide.numpy(), self.narrow.numpy()

    def write(self, batch: Batch, key: Key) -> None:
        """Lay out a batch for a key."""
        fill(Fields.of(*self._host, key), batch, batch.parts[0] if key.form else None)


class Arena:
    """Memory of the device for every key that there can be."""

    def __init__(self, device: GraphDevice, buckets: Buckets, widths: Widths) -> None:
        wide, narrow = sizes(_largest(buckets))
        self._widths = widths
        self.wide = device.empty(wide, torch.int64)
        self.narrow = device.empty(narrow, torch.int32)
        self._rows = device.empty(_row_bytes(buckets, widths), torch.uint8)
        self._finite = device.empty(buckets.slots[-1], torch.bool)
        self._states = device.empty(buckets.most_rows * widths.hidden, widths.dtype)

    def frame(self, key: Key) -> Frame:
        """The views of a key."""
        fields = Fields.of(self.wide, self.narrow, key)
        longest = min(key.tokens, self._widths.longest)
        batch = Batch(
            token_ids=fields.token_ids,
            positions=fields.positions,
            token_types=fields.token_types if self._widths.typed else None,
            ragged=Ragged((), fields.cu_seqlens, key.tokens, longest, seen=fields.seen),
            parts=(),
            places=(),
        )
        finite = self._finite[: key.slots]
        if key.form is None:
            states = self._states[: key.tokens * self._widths.hidden].view(key.tokens, -1)
            return Frame(batch, None, states, finite)
        part = Part(key.form, (), fields.bounds)
        return Frame(batch, part, rows_of(self._rows, key.form, key.slots), finite)


def _largest(buckets: Buckets) -> Key:
    return Key(buckets.most_rows, buckets.slots[-1])


def _row_bytes(buckets: Buckets, widths: Widths) -> int:
    return buckets.slots[-1] * widths.dimensions * torch.float32.itemsize
