"""Whole blocks by our own kernels."""

from typing import cast

import torch
from torch import Tensor

from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.layers.block import PostNormBlock
from tulip_rose.rose.layers.native import LANES, NativeAttention, NativeLinear, NativeNorm, shape_of, wide
from tulip_rose.rose.native.library import Block, Team, byref


class NativePostNorm:
    """A `PostNormBlock` in one call: what lies between its layers never comes back to Python."""

    def __init__(self, team: Team, parts: PostNormBlock) -> None:
        """Take the parts, all of them native; heads of a multiple of 16."""
        self._team, self._kernels = team, team.kernels
        # Owns the memory that the block points to.
        self._parts = parts
        shape = shape_of(parts.heads, parts.heads, parts.size, parts.mask, parts.scale)
        layers = (cast(NativeLinear, each).layer for each in (parts.qkv, parts.out, parts.up, parts.down))
        norms = (cast(NativeNorm, each).norm for each in (parts.attention_norm, parts.output_norm))
        self._block = Block(*layers, *norms, shape)

    @staticmethod
    def serves(parts: PostNormBlock) -> bool:
        """Whether these parts can be one call."""
        layers = (parts.qkv, parts.out, parts.up, parts.down)
        native = isinstance(parts.attention, NativeAttention) and all(isinstance(x, NativeLinear) for x in layers)
        return native and parts.size % LANES == 0

    def __call__(self, x: Tensor, ragged: Ragged) -> Tensor:
        """See `Block`."""
        if ragged.partly_seen:
            return self._parts(x, ragged)
        y = torch.empty_like(x)
        starts = ragged.starts
        self._kernels.rose_block(
            *(self._team.address, wide(x.dtype), byref(self._block), x.data_ptr()),
            *(starts.data_ptr(), starts.shape[0] - 1, ragged.longest, y.data_ptr()),
        )
        return y
