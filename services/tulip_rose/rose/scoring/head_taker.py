"""`HeadTaker`: from names in a checkpoint to the row modules of a head, in float32 on the device of the model."""

import re

import torch
from torch import Tensor

from tulip_rose.rose.rows.activation import RowActivation
from tulip_rose.rose.rows.dense import Dense
from tulip_rose.rose.rows.layer_norm import LayerNorm
from tulip_rose.rose.rows.row_module import RowModule
from tulip_rose.rose.weights import Weights


def _plain(rows: Tensor) -> Tensor:
    return rows


class HeadTaker:
    """Takes tensors by their whole name, before the base model takes its own and finds that nothing is left."""

    def __init__(self, weights: Weights, device: torch.device) -> None:
        self._weights = weights
        self._device = device

    def dense(
        self, name: str, out: int, into: int, activation: RowActivation = _plain, *, bias: bool = True
    ) -> RowModule:
        """A linear layer and what follows it."""
        weight = self._take(f"{name}.weight", out, into)
        return Dense(out, weight, self._take(f"{name}.bias", out) if bias else None, activation)

    def of_weight(self, weight: Tensor) -> RowModule:
        """A linear layer of weights [out, in] on the host that were made of others."""
        return Dense(weight.shape[0], weight.to(self._device), None, _plain)

    def norm(self, name: str, size: int, epsilon: float, *, bias: bool) -> RowModule:
        """A layer norm."""
        weight = self._take(f"{name}.weight", size)
        return LayerNorm(weight, self._take(f"{name}.bias", size) if bias else None, epsilon)

    def has(self, name: str) -> bool:
        """Whether there is a tensor of that name."""
        return self._weights.has(name)

    def rows(self, name: str, rows: list[int], shape: tuple[int, int], *, keep: bool = False) -> Tensor:
        """Some rows of a table, on the host; the table is gone then, unless it is kept for the base model."""
        found = self._weights.rows(name, rows, shape)
        if not keep:
            self._weights.forget(re.escape(name))
        return found

    def _take(self, name: str, *shape: int) -> Tensor:
        return self._weights.take_whole(name, shape).to(self._device, copy=True)
