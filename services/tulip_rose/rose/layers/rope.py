"""Rotary positions: the two halves of a head, as pairs, are turned by angles that grow with the position."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from tulip_rose.rose.layers.norm import rms
from tulip_rose.rose.layers.rope_scaling import Scaling


@dataclass(frozen=True, slots=True)
class Turn:
    """How far the pairs of each token are turned: float32 [T, size / 2], contiguous."""

    cos: Tensor
    sin: Tensor


class Rope:
    """Angles for every position, of one base."""

    def __init__(
        self, base: float, size: int, positions: int, device: torch.device, scaling: Scaling | None = None
    ) -> None:
        """Pair p of a head of `size` turns by `base ** (-2 p / size)` a position, unless that is scaled."""
        speed, amplitude = 1.0 / (base ** (torch.arange(0, size, 2).float() / size)), 1.0
        if scaling is not None:
            speed, amplitude = scaling.scaled(speed, base), scaling.amplitude
        angles = torch.arange(positions).float()[:, None] * speed
        self._cos, self._sin = (amplitude * turned.to(device) for turned in (angles.cos(), angles.sin()))

    def __call__(self, positions: Tensor) -> Turn:
        """The turns of tokens at these positions, int64 [T].

        Raises:
            IndexError: a position is beyond the last, on a CPU.
        """
        return Turn(self._cos[positions], self._sin[positions])


@dataclass(frozen=True, slots=True)
class Heads:
    """The heads of an attention, and what happens to queries and keys before they are turned."""

    queries: int
    keys: int
    """Heads of keys, and of values; divides `queries`."""
    size: int
    weight: Tensor | None = None
    """Of a norm by the root of the mean square within each head: float32 [queries + keys, size]; None: no norm."""
    epsilon: float = 0.0

    @property
    def attended(self) -> int:
        """Values of a token after attention."""
        return self.queries * self.size

    @property
    def turned(self) -> int:
        """Values of a token that are turned."""
        return (self.queries + self.keys) * self.size

    @property
    def width(self) -> int:
        """Values of a token in all: queries, keys, values."""
        return self.turned + self.keys * self.size

    def split(self, qkv: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[T, width] as views [T, heads, size]."""
        parts = qkv.view(qkv.shape[0], -1, self.size)
        q, k, v = parts.split([self.queries, self.keys, self.keys], dim=1)
        return q, k, v


class Turner(Protocol):
    """Norms and turns queries and keys."""

    def __call__(self, qkv: Tensor, turn: Turn) -> Tensor:
        """[T, width], contiguous → the same, for which it may take the memory of its input."""


class TorchTurner:
    """See `Turner`."""

    def __init__(self, heads: Heads) -> None:
        self._heads = heads

    def __call__(self, qkv: Tensor, turn: Turn) -> Tensor:
        """See `Turner`."""
        heads = self._heads
        turned = qkv[:, : heads.turned].unflatten(1, (-1, heads.size))
        x = turned.float()
        if heads.weight is not None:
            x = rms(x, heads.weight, heads.epsilon)
        first, second = x.chunk(2, dim=-1)
        cos, sin = turn.cos[:, None], turn.sin[:, None]
        turned.copy_(torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1))
        return qkv
