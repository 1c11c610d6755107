"""From token ids to the first states of a model."""

from typing import Protocol

from torch import Tensor
from torch.nn import functional

from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.layers.norm import Norm
from tulip_rose.rose.layers.places import Place


class Embedding(Protocol):
    """The norm of a word's vector plus that of its place."""

    def __call__(self, inputs: Inputs) -> Tensor:
        """States of all tokens, [T, H]."""


class TorchEmbedding:
    """See `Embedding`."""

    def __init__(self, words: Tensor, places: Tensor, norm: Norm, place: Place) -> None:
        """Take tables [vocabulary, H] and [places, H]."""
        self._words, self._places, self._norm, self._place = words, places, norm, place

    def __call__(self, inputs: Inputs) -> Tensor:
        """See `Embedding`."""
        words = functional.embedding(inputs.token_ids, self._words)
        return self._norm(words, functional.embedding(self._place(inputs), self._places))
