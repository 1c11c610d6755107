"""`TritonEmbedding`: word, position and type of each token to its first state, as one kernel."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.kernels.norm import TritonNorm, normed
from tulip_rose.rose.layers.places import Place, Places


@triton.jit
def _embed(
    ids: tl.tensor,
    rows: tl.tensor,
    types: tl.tensor,
    words: tl.tensor,
    places: tl.tensor,
    weight: tl.tensor,
    bias: tl.tensor,
    out: tl.tensor,
    epsilon: tl.tensor,
    vocabulary: tl.tensor,
    longest: tl.tensor,
    apart: tl.tensor,
    size: tl.constexpr,
    block: tl.constexpr,
    root: tl.constexpr,
) -> None:
    at = tl.arange(0, block)
    inside = at < size
    token = tl.program_id(0).to(tl.int64)
    word = tl.load(ids + token).to(tl.int64)
    place = tl.load(rows + token).to(tl.int64)
    if types is not None:
        place += tl.load(types + token).to(tl.int64) * apart
    known = (word >= 0) & (word < vocabulary) & (place >= 0) & (place < longest)
    there = inside & known
    x = tl.load(words + word * size + at, mask=there, other=0.0).to(tl.float32)
    x += tl.load(places + place * size + at, mask=there, other=0.0).to(tl.float32)
    # What is in no table makes a row that is no number, which fails its own request and no other.
    x = tl.where(known | (at >= size), x, float("nan"))
    tl.store(out + token * size + at, normed(x, weight, bias, at, inside, epsilon, size, root), mask=inside)


class TritonEmbedding:
    """See `Embedding`. Tokens and places that are in no table become rows of NaN: nothing is checked on the host."""

    def __init__(self, words: Tensor, places: Tensor, norm: TritonNorm, place: Place) -> None:
        """Take tables [vocabulary, H] and [places, H] and a norm of this kit."""
        self._words, self._places, self._norm, self._place = words.contiguous(), places.contiguous(), norm, place

    def __call__(self, inputs: Inputs) -> Tensor:
        """See `Embedding`.

        Raises:
            IndexError: a sequence is longer than the model has places.
        """
        norm = self._norm
        rows, types, apart = self._rows(inputs)
        out = torch.empty((rows.shape[0], norm.size), dtype=self._words.dtype, device=self._words.device)
        _embed[(rows.shape[0],)](
            *(inputs.token_ids, rows, types, self._words, self._places, norm.weight, norm.bias, out, norm.epsilon),
            *(self._words.shape[0], self._places.shape[0], apart),
            size=norm.size,
            block=norm.line.block,
            root=norm.root,
            num_warps=norm.line.warps,
        )
        return out

    def _rows(self, inputs: Inputs) -> tuple[Tensor, Tensor | None, int]:
        """Rows of the table of places, types to be added to them, and how many rows a type has."""
        place = self._place
        if not isinstance(place, Places) or place.padding is not None:
            return place(inputs), None, 0
        place.check(inputs)
        return inputs.positions, place.told_types(inputs), place.positions
