"""From token ids to the first states of a model."""

from typing import Protocol

from torch import Tensor
from torch.nn import functional

from tulip_rose.rose.batch import Batch
from tulip_rose.rose.layers.norm import Norm


class Embedding(Protocol):
    """The norm of a word's vector plus that of its position."""

    def __call__(self, batch: Batch) -> Tensor:
        """States of all tokens, [T, H]."""


class TorchEmbedding:
    """See `Embedding`."""

    def __init__(self, words: Tensor, positions: Tensor, norm: Norm) -> None:
        """Take tables [vocabulary, H] and [positions, H]."""
        self._words, self._positions, self._norm = words, positions, norm

    def __call__(self, batch: Batch) -> Tensor:
        """See `Embedding`."""
        words = functional.embedding(batch.token_ids, self._words)
        return self._norm(words, functional.embedding(batch.positions, self._positions))
