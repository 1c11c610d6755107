"""`LexicalHead`: one weight a token, and for a term the largest of its tokens in a span, as bge-m3 has it."""

import torch
from torch import Tensor
from torch.nn import functional

from tulip_rose.rose.batch import Batch, Part
from tulip_rose.rose.layers.head import Made
from tulip_rose.rose.sparse.terms import Terms


class LexicalHead:
    """See `Head`. Tokens that are no words (those that begin and end a text, padding, the unknown) have no weight."""

    def __init__(self, weight: Tensor, bias: Tensor, vocabulary: int, unused: Tensor) -> None:
        """Take float32 [1, H] and [1], and the ids of the tokens that are no words."""
        self._weight, self._bias = weight, bias
        self._vocabulary, self._unused = vocabulary, unused

    def __call__(self, states: Tensor, part: Part, batch: Batch) -> Made:
        """See `Head`; dimensions are the terms that a row keeps at most."""
        bounds = part.bounds.to(states.device, torch.int64)
        rows, tokens = _tokens(bounds)
        weights = functional.linear(states[tokens].float(), self._weight, self._bias)[:, 0].relu()
        good = torch.ones(bounds.shape[0], dtype=torch.bool, device=states.device)
        good[rows[~weights.isfinite()]] = False
        terms = batch.token_ids[tokens]
        kept = (weights > 0) & good[rows] & ~torch.isin(terms, self._unused)
        return self._largest(rows[kept], terms[kept], weights[kept], good, part.form.dimensions).packed(good)

    def _largest(self, rows: Tensor, terms: Tensor, weights: Tensor, good: Tensor, most: int) -> Terms:
        """Of each row and term the largest weight; of each row the `most` largest, where it has more."""
        keys, found = (rows * self._vocabulary + terms).unique(return_inverse=True)
        best = torch.zeros(keys.shape[0], device=weights.device).scatter_reduce_(0, found, weights, "amax")
        rows, terms = keys // self._vocabulary, keys % self._vocabulary
        counts = torch.bincount(rows, minlength=good.shape[0])
        if keys.shape[0] and int(counts.max()) > most:
            chosen = _chosen(rows, best, counts, most)
            terms, best, counts = terms[chosen], best[chosen], counts.clamp(max=most)
        return Terms(counts, terms, best)


def _tokens(bounds: Tensor) -> tuple[Tensor, Tensor]:
    """Of spans [R, 2] all tokens, and the span of each: two int64 [N]."""
    lengths = bounds[:, 1] - bounds[:, 0]
    rows = torch.repeat_interleave(torch.arange(bounds.shape[0], device=bounds.device), lengths)
    first = torch.repeat_interleave(bounds[:, 0] - (lengths.cumsum(0) - lengths), lengths)
    return rows, first + torch.arange(rows.shape[0], device=bounds.device)


def _chosen(rows: Tensor, weights: Tensor, counts: Tensor, most: int) -> Tensor:
    """Places of the `most` largest weights of each row, ascending; of equal ones the earlier."""
    by_weight = weights.argsort(descending=True, stable=True)
    order = by_weight[rows[by_weight].argsort(stable=True)]
    rank = torch.arange(order.shape[0], device=order.device) - (counts.cumsum(0) - counts)[rows[order]]
    return order[rank < most].sort().values
