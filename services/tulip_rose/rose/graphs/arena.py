"""`Arena`: the static buffers of all keys, as one set of the size of the largest; `Frame`: the views of one key.

Two steps never run at once, so all keys share the memory, and more graphs take no more of it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tulip_rose.rose.graphs.device import GraphDevice
from tulip_rose.rose.graphs.key import Buckets, Key
from tulip_rose.rose.graphs.layout import aligned, given_bytes, out_bytes
from tulip_rose.rose.graphs.padding import Fields
from tulip_rose.rose.inputs import Inputs, Part, Ragged
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


@dataclass(frozen=True, slots=True)
class Out:
    """The rows of a key's form in a buffer: first which are finite, then the rows, so that one copy takes both."""

    whole: Tensor
    """uint8: all of it."""
    rows: Tensor
    """[slots, values or packed bytes]."""
    finite: Tensor
    """bool [slots]."""

    @classmethod
    def of(cls, memory: Tensor, form: OutputForm, slots: int) -> "Out":
        """Views of the first bytes of memory, uint8."""
        dtype, begin = _DTYPES[form.vector_type], aligned(slots)
        width = -(-form.dimensions // _BITS) if form.vector_type is VectorType.BINARY else form.dimensions
        whole = memory[: begin + slots * width * dtype.itemsize]
        return cls(whole, whole[begin:].view(dtype).view(slots, width), whole[:slots].view(torch.bool))

    def bytes_of(self, count: int) -> int:
        """Of the first rows, with what is before them."""
        return self.whole.shape[0] - (self.rows.shape[0] - count) * self.rows.stride(0) * self.rows.element_size()


@dataclass(frozen=True, slots=True)
class Frame:
    """Of one key: what its step reads and writes."""

    given: Tensor
    """uint8: what is copied in."""
    inputs: Inputs
    """Static tensors; of the sequences nothing is known but what they hold."""
    rows: tuple[Part, Out] | None
    """Those that the step makes, and where they go; None: states come out."""
    states: Tensor
    """[tokens, hidden]; written where they come out."""


class Arena:
    """Memory of the device for every key that there can be."""

    def __init__(self, device: GraphDevice, buckets: Buckets, widths: Widths) -> None:
        largest = Key(buckets.most_rows, buckets.slots[-1])
        self._buckets, self._widths = buckets, widths
        self._given = device.empty(given_bytes(largest), torch.uint8)
        self._out = device.empty(out_bytes(largest.slots, widths.dimensions), torch.uint8)
        self._states = device.empty(largest.tokens * widths.hidden, widths.dtype)

    def frame(self, key: Key) -> Frame:
        """The views of a key."""
        fields = Fields.of(self._given, key)
        longest, pads = min(key.tokens, self._widths.longest), self._buckets.most_pads(key.tokens)
        inputs = Inputs(
            token_ids=fields.token_ids,
            positions=fields.positions,
            token_types=fields.token_types if self._widths.typed else None,
            ragged=Ragged(fields.cu_seqlens, key.tokens, longest, seen=fields.seen, pads=pads),
        )
        given = self._given[: given_bytes(key, typed=self._widths.typed)]
        states = self._states[: key.tokens * self._widths.hidden].view(key.tokens, -1)
        if key.form is None:
            return Frame(given, inputs, None, states)
        out = Out.of(self._out, key.form, key.slots)
        return Frame(given, inputs, (Part(key.form, fields.bounds), out), states)
