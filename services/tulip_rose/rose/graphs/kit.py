"""Layers that know the lengths of sequences only when they run: they read tensors, and no list made beforehand.

On a CPU they read those tensors and do what torch's layers do; on a GPU kernels take this place.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from tulip_rose.rose.inputs import Inputs, Part, Ragged
from tulip_rose.rose.layers.attention import Attention, Mask, TorchAttention, choose
from tulip_rose.rose.layers.head import Head, Made, made_of, pooled_needs
from tulip_rose.rose.layers.kit import TorchKit
from tulip_rose.rose.plan.heads import HeadNeeds, StepSize
from tulip_rose.rose.pooling import pool
from tulip_rose.rose.pooling_words import Poolings
from tulip_rose.rose.rows.row_module import RowModule


class OffsetsAttention:
    """See `Attention`. Every row belongs to a sequence, as the padding law has it."""

    name = "torch"

    def __init__(self) -> None:
        self._torch = TorchAttention()

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, ragged: Ragged, mask: Mask, scale: float) -> Tensor:
        """See `Attention`."""
        longest = q.shape[0] if mask.bias is None else mask.bias.reach + 1
        return self._torch(q, k, v, _now(ragged, longest), mask, scale)


def _now(ragged: Ragged, longest: int) -> Ragged:
    """The sequences that the tensors hold by now; the pads, where they are longer than any may be, as several."""
    starts = ragged.starts.numpy()
    lengths = np.diff(starts)
    known = lengths if ragged.partly is None else ragged.partly
    seen = known if ragged.seen is None else ragged.seen.numpy()
    there = lengths > 0
    found = zip(starts[:-1][there].tolist(), lengths[there].tolist(), seen[there].tolist(), strict=True)
    pieces = list(_pieces(found, longest))
    begins = torch.tensor([*(start for start, _, _ in pieces), ragged.tokens], dtype=torch.int32)
    partly = np.asarray([count for _, _, count in pieces], np.int32)
    return Ragged(begins, ragged.tokens, ragged.longest, partly)


def _pieces(sequences: Iterable[tuple[int, int, int]], longest: int) -> Iterator[tuple[int, int, int]]:
    for start, length, seen in sequences:
        if length <= longest:
            yield start, length, seen
            continue
        for at in range(0, length, longest):
            count = min(longest, length - at)
            yield start + at, count, count


class BoundsHead:
    """See `Head`: as `TorchHead`, of spans that are told by the tensor of their bounds alone."""

    def __init__(self, poolings: Poolings, rows: tuple[RowModule, ...] = ()) -> None:
        self._poolings, self._modules = poolings, rows

    def __call__(self, states: Tensor, part: Part, inputs: Inputs) -> Made:
        """See `Head`."""
        # Slots without a span all have the same bounds: they are pooled once.
        bounds, which = part.bounds.unique(dim=0, return_inverse=True)
        spans = Part(part.form, bounds).spans
        rows = pool(states, spans, self._poolings, inputs.positions)[which]
        return made_of(rows, self._modules, part.form)

    def needs(self, step: StepSize) -> HeadNeeds:
        """See `Head`."""
        return pooled_needs(step, self._poolings, self._modules)


class FrameKit(TorchKit):
    """Torch's layers over static buffers."""

    def __init__(self, device: torch.device, attention: str) -> None:
        """`attention` names a backend, or is auto.

        Raises:
            LoadError: no such backend.
        """
        super().__init__(device, "auto")
        self.attention: Attention = choose(attention, {OffsetsAttention.name: OffsetsAttention()})
        self.rounds = False

    def head(self, poolings: Poolings, rows: tuple[RowModule, ...] = ()) -> Head:
        """See `Kit`."""
        return BoundsHead(poolings, rows)
