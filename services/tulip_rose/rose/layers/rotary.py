"""Attention with rotary positions, and the blocks that are built on it."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.layers.attention import Attention, Mask
from tulip_rose.rose.layers.gated import Gated
from tulip_rose.rose.layers.linear import Linear
from tulip_rose.rose.layers.norm import Norm
from tulip_rose.rose.layers.rope import Heads, Turn, Turner


class RotaryBlock(Protocol):
    """One of a model's repeated blocks; the turn of its tokens comes with each call."""

    def __call__(self, x: Tensor, ragged: Ragged, turn: Turn) -> Tensor:
        """States of all tokens, [T, H] contiguous → [T, H]."""


@dataclass(frozen=True, slots=True)
class RotaryAttention:
    """Attention up to its output layer; several heads of queries may share one of keys and values."""

    qkv: Linear
    """[H] → [width of the heads]: queries, keys, values."""
    heads: Heads
    turner: Turner
    attention: Attention
    mask: Mask
    scale: float
    """Of the logits."""

    def __call__(self, x: Tensor, ragged: Ragged, turn: Turn) -> Tensor:
        """[T, H] → [T, queries · size]."""
        q, k, v = self.heads.split(self.turner(self.qkv(x), turn))
        return self.attention(q, k, v, ragged, self.mask, self.scale)


@dataclass(frozen=True, slots=True)
class PreNormBlock:
    """Attention and gated feed-forward, each with a norm before it. See `RotaryBlock`."""

    attention_norm: Norm | None
    """None: the states come to attention as they are."""
    attention: RotaryAttention
    out: Linear
    feed_norm: Norm
    feed: Gated
    down: Linear

    def __call__(self, x: Tensor, ragged: Ragged, turn: Turn) -> Tensor:
        """See `RotaryBlock`."""
        normed = x if self.attention_norm is None else self.attention_norm(x)
        x = self.out.add(self.attention(normed, ragged, turn), x)
        return self.down.add(self.feed(self.feed_norm(x)), x)


@dataclass(frozen=True, slots=True)
class SandwichBlock:
    """As `PreNormBlock`, with a norm after each half too, before its input is added. See `RotaryBlock`."""

    attention_norm: Norm
    attention: RotaryAttention
    out: Linear
    attended_norm: Norm
    feed_norm: Norm
    feed: Gated
    down: Linear
    fed_norm: Norm

    def __call__(self, x: Tensor, ragged: Ragged, turn: Turn) -> Tensor:
        """See `RotaryBlock`."""
        x = x + self.attended_norm(self.out(self.attention(self.attention_norm(x), ragged, turn)))
        return x + self.fed_norm(self.down(self.feed(self.feed_norm(x))))


@dataclass(frozen=True, slots=True)
class RotaryPostNormBlock:
    """Attention and gated feed-forward, each followed by the add of its input and a norm. See `RotaryBlock`."""

    attention: RotaryAttention
    out: Linear
    attention_norm: Norm
    feed: Gated
    down: Linear
    feed_norm: Norm

    def __call__(self, x: Tensor, ragged: Ragged, turn: Turn) -> Tensor:
        """See `RotaryBlock`."""
        x = self.attention_norm(self.out.add(self.attention(x, ragged, turn), x))
        return self.feed_norm(self.down.add(self.feed(x), x))
