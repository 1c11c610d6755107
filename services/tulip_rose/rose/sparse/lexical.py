"""`LexicalHead`: one weight a token, and for a term the largest of its tokens in a span, as bge-m3 has it.

The device weighs tokens; the terms of a span are found on the host, since how many there are shows only then.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tulip_rose.rose import lazy
from tulip_rose.rose.inputs import Inputs, Part
from tulip_rose.rose.layers.head import Made
from tulip_rose.rose.plan.heads import FLOAT32, HeadNeeds, StepSize, results_bytes
from tulip_rose.rose.sparse.terms import Terms

Values = NDArray[Any]

_WORDS = 2
"""Of a token: its id and its weight."""
_PASSED = 2
"""Sets of them that are alive at once: what is made, and what it is made of."""


class LexicalHead:
    """See `Head`. Tokens that are no words (those that begin and end a text, padding, the unknown) have no weight."""

    def __init__(self, weight: Tensor, bias: Tensor, vocabulary: int, unused: Tensor) -> None:
        """Take float32 [1, H] and [1], and the ids of the tokens that are no words."""
        self._weight, self._bias = weight, bias
        self._vocabulary, self._unused = vocabulary, unused.cpu().numpy()

    def __call__(self, states: Tensor, part: Part, inputs: Inputs) -> Made:
        """See `Head`; dimensions are the terms that a row keeps at most."""
        weights = functional.linear(states.float(), self._weight, self._bias)[:, 0].relu()
        tokens = torch.stack((inputs.token_ids.int(), weights.view(torch.int32)))
        return Made(tokens, weights.isfinite(), partial(self._of_spans, part.bounds.numpy(), part.form.dimensions))

    def needs(self, step: StepSize) -> HeadNeeds:
        """See `Head`; tokens are weighed whether or not a span has them."""
        tokens = _WORDS * step.tokens * FLOAT32
        states = step.tokens * step.hidden * FLOAT32
        held = self._weight.nbytes + self._bias.nbytes
        return HeadNeeds(states + _PASSED * tokens, results_bytes(tokens, step.tokens), held)

    def _of_spans(self, bounds: NDArray[np.int32], most: int, tokens: lazy.Part) -> lazy.Part:
        """The terms of spans [R, 2], from the id and the weight of every token, int32 [2, T]."""
        ids, weights = tokens.rows[0].astype(np.int64), tokens.rows[1].view(np.float32)
        rows, places = _tokens(bounds.astype(np.int64))
        good = np.ones(bounds.shape[0], np.bool_)
        good[rows[~tokens.finite[places]]] = False
        ids, weights = ids[places], weights[places]
        kept = (weights > 0) & good[rows] & ~np.isin(ids, self._unused)
        return self._largest(rows[kept], ids[kept], weights[kept], bounds.shape[0], most).packed(good)

    def _largest(self, rows: Values, terms: Values, weights: Values, count: int, most: int) -> Terms:
        """Of each of so many rows and each term the largest weight; of each row the `most` largest, if it has more."""
        keys, found = np.unique(rows * self._vocabulary + terms, return_inverse=True)
        best = np.zeros(keys.shape[0], np.float32)
        np.maximum.at(best, found, weights)
        rows, terms = np.divmod(keys, self._vocabulary)
        counts = np.bincount(rows, minlength=count)
        if counts.max(initial=0) > most:
            chosen = _chosen(rows, best, counts, most)
            terms, best, counts = terms[chosen], best[chosen], counts.clip(max=most)
        return Terms(counts, terms, best)


def _tokens(bounds: NDArray[np.int64]) -> tuple[Values, Values]:
    """Of spans [R, 2] all tokens: the span of each, and where it is; two int64 [N]."""
    lengths = bounds[:, 1] - bounds[:, 0]
    rows = np.repeat(np.arange(bounds.shape[0]), lengths)
    first = np.repeat(bounds[:, 0] - (np.cumsum(lengths) - lengths), lengths)
    return rows, first + np.arange(rows.shape[0])


def _chosen(rows: Values, weights: Values, counts: Values, most: int) -> Values:
    """Places of the `most` largest weights of each row, ascending; of equal ones the earlier."""
    order = np.lexsort((-weights, rows))
    rank = np.arange(order.shape[0]) - (np.cumsum(counts) - counts)[rows[order]]
    chosen: Values = np.sort(order[rank < most])
    return chosen
