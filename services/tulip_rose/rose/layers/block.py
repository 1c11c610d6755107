"""Blocks: the layers between two states of the tokens."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.layers.attention import Attention, Mask
from tulip_rose.rose.layers.linear import Linear
from tulip_rose.rose.layers.norm import Norm


class Block(Protocol):
    """One of the model's repeated blocks."""

    def __call__(self, x: Tensor, ragged: Ragged) -> Tensor:
        """States of all tokens, [T, H] contiguous → [T, H]."""


@dataclass(frozen=True, slots=True)
class PostNormBlock:
    """Attention and feed-forward, each followed by the add of its input and a norm, as in BERT. See `Block`."""

    qkv: Linear
    """[H] → [3 · heads · size]: queries, keys, values."""
    out: Linear
    attention_norm: Norm
    up: Linear
    """With the activation."""
    down: Linear
    output_norm: Norm
    attention: Attention
    heads: int
    size: int
    """Of a head."""
    mask: Mask
    scale: float
    """Of the logits."""

    def __call__(self, x: Tensor, ragged: Ragged) -> Tensor:
        """See `Block`."""
        q, k, v = self.qkv(x).view(-1, 3, self.heads, self.size).unbind(1)
        attended = self.attention(q, k, v, ragged, self.mask, self.scale)
        x = self.attention_norm(self.out.add(attended, x))
        return self.output_norm(self.down.add(self.up(x), x))
