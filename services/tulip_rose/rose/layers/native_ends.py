"""Both ends of a model by our own kernels: first states, and rows."""

from typing import cast

import torch
from torch import Tensor

from tulip_rose.rose.inputs import Inputs, Part
from tulip_rose.rose.layers.head import Head, Made
from tulip_rose.rose.layers.native import NativeNorm, wide
from tulip_rose.rose.layers.norm import Norm
from tulip_rose.rose.layers.places import Place
from tulip_rose.rose.native.library import Form, Tables, Team, byref
from tulip_rose.rose.plan.heads import HeadNeeds, StepSize
from tulip_rose.rose.pooling_words import Pooling, Poolings
from tulip_rose.rose.rows.row_module import RowModule
from tulip_rose.sequence import VectorType

_POOLINGS = {Pooling.MEAN: 0, Pooling.CLS: 1, Pooling.LAST_TOKEN: 2}


class NativeEmbedding:
    """See `Embedding`."""

    def __init__(self, team: Team, words: Tensor, places: Tensor, norm: Norm, place: Place) -> None:
        """Take contiguous tables and a native norm."""
        self._team, self._kernels = team, team.kernels
        self._words, self._places, self._norm, self._place = words, places, cast(NativeNorm, norm), place
        self._tables = Tables(words.data_ptr(), places.data_ptr(), words.shape[0], places.shape[0])

    def __call__(self, inputs: Inputs) -> Tensor:
        """See `Embedding`.

        Raises:
            IndexError: a token or a place is in no table.
        """
        rows, places = inputs.token_ids.shape[0], self._place(inputs)
        out = torch.empty((rows, self._words.shape[1]), dtype=self._words.dtype)
        wrong = self._kernels.rose_embed(
            *(self._team.address, wide(out.dtype), byref(self._norm.norm), byref(self._tables)),
            *(inputs.token_ids.data_ptr(), places.data_ptr(), rows, out.data_ptr()),
        )
        if wrong >= 0:
            token, place = int(inputs.token_ids[wrong]), int(places[wrong])
            raise IndexError(f"token {token} or place {place} is in no table of the model")
        return out


class NativeHead:
    """See `Head`. Forms that are quantised go to another one."""

    def __init__(self, team: Team, pooling: Pooling, other: Head) -> None:
        self._team, self._kernels = team, team.kernels
        self._pooling = _POOLINGS[pooling]
        self._other = other

    @staticmethod
    def serves(poolings: Poolings, rows: tuple[RowModule, ...]) -> bool:
        """Whether the kernel can: one pooling that it has, and nothing between pooling and the form."""
        return len(poolings) == 1 and poolings[0] in _POOLINGS and not rows

    def __call__(self, states: Tensor, part: Part, inputs: Inputs) -> Made:
        """See `Head`."""
        form, rows = part.form, part.bounds.shape[0]
        if form.vector_type is not VectorType.FLOAT32:
            return self._other(states, part, inputs)
        vectors = torch.empty((rows, form.dimensions), dtype=torch.float32)
        finite = torch.empty(rows, dtype=torch.bool)
        asked = Form(self._pooling, states.shape[1], form.dimensions, form.normalize)
        self._kernels.rose_pool(
            *(self._team.address, wide(states.dtype), byref(asked), states.data_ptr(), states.shape[0]),
            *(part.bounds.data_ptr(), rows, vectors.data_ptr(), finite.data_ptr()),
        )
        return Made(vectors, finite)

    def needs(self, step: StepSize) -> HeadNeeds:
        """See `Head`."""
        return self._other.needs(step)
