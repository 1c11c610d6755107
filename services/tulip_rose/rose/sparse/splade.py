"""`SpladeHead`: one weight a term of the vocabulary, the largest or the sum over the tokens of a span.

A logit stands for each token and term, which is a thousand times as much as a state: they are made for a few spans at a
time and pooled at once, so that their memory depends on neither the batch nor the length of a text. What stays is one
weight a term of each span, from which the host takes those above 0: a device would have to be asked how many they are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor
from torch.nn import functional

from tulip_rose.rose.inputs import Group, Inputs, Part
from tulip_rose.rose.layers.head import Made
from tulip_rose.rose.output import finite
from tulip_rose.rose.plan.heads import FLOAT32, HeadNeeds, StepSize, results_bytes
from tulip_rose.rose.sparse.terms import pack_dense
from tulip_rose.rose.sparse.vocabulary import VocabularyHead

LOGITS = 2**23
"""Values of one piece: 32 MiB in float32."""
_OF_A_LOGIT = 32
"""Bytes that are alive at once, at most: five float32 values, and twelve bytes for the order of the largest."""
_OF_A_STATE = 16
"""As much: before and after a layer, its activation and its norm."""


@dataclass(frozen=True, slots=True)
class Splade:
    """How logits become weights."""

    sums: bool
    """Over the tokens of a span; else the largest of them."""
    twice: bool
    """Whether the logarithm is taken twice."""

    def of_tokens(self, logits: Tensor) -> Tensor:
        """Pool logits [R, length, terms] to float32 [R, terms], which `joined` and `finished` take on."""
        # What follows rises with the logit, so the largest logit has the largest weight.
        return self._weights(logits.float()).sum(1) if self.sums else logits.amax(1).float()

    def joined(self, one: Tensor, other: Tensor) -> Tensor:
        """What two runs of tokens of the same spans have together."""
        return one + other if self.sums else torch.maximum(one, other)

    def finished(self, pooled: Tensor) -> Tensor:
        """The weights [R, terms]."""
        return pooled if self.sums else self._weights(pooled)

    def _weights(self, logits: Tensor) -> Tensor:
        weights = functional.relu(logits).log1p_()
        return weights.log1p_() if self.twice else weights


class SpladeHead:
    """See `Head`."""

    def __init__(self, vocabulary: VocabularyHead, splade: Splade, logits: int = LOGITS) -> None:
        """`logits` bounds the values of a piece; one token has its own in any case."""
        self._vocabulary, self._splade = vocabulary, splade
        self.terms = vocabulary.terms
        self._tokens = max(logits // vocabulary.terms, 1)

    def __call__(self, states: Tensor, part: Part, inputs: Inputs) -> Made:
        """See `Head`; dimensions are the terms that a row keeps at most."""
        count = part.bounds.shape[0]
        weights = torch.empty((count, self.terms), dtype=torch.float32, device=states.device)
        good = torch.empty(count, dtype=torch.bool, device=states.device)
        begin = 0
        for group in part.spans:
            for piece in self._pieces(group):
                end = begin + piece.count
                rows = self._splade.finished(self._pooled(states, piece))
                good[begin:end] = finite(rows)
                rows = rows.masked_fill(~good[begin:end, None], 0.0)
                weights[begin:end] = largest(rows, part.form.dimensions)
                begin = end
        return Made(weights, good, pack_dense)

    def needs(self, step: StepSize) -> HeadNeeds:
        """See `Head`; a piece may be of as many spans as it has tokens."""
        tokens, rows = min(self._tokens, step.tokens), step.spans * self.terms * FLOAT32
        piece = tokens * (_OF_A_LOGIT * self.terms + _OF_A_STATE * step.hidden)
        return HeadNeeds(rows + step.spans + piece, results_bytes(rows, step.spans), self._vocabulary.held)

    def _pieces(self, group: Group) -> Iterator[Group]:
        """As many spans at a time as have their logits in one piece; at least one."""
        step = max(self._tokens // group.length, 1)
        for first in range(0, group.count, step):
            begin = group.begin + first * group.length
            yield Group(begin, min(step, group.count - first), group.length)

    def _pooled(self, states: Tensor, spans: Group) -> Tensor:
        """Pool spans; those that are longer than a piece are taken run by run."""
        tokens = states[spans.begin : spans.end].view(spans.count, spans.length, -1)
        runs = tokens.split(self._tokens, dim=1)
        return reduce(self._splade.joined, map(self._of_run, runs))

    def _of_run(self, tokens: Tensor) -> Tensor:
        """Pool states [R, length, H] of the same tokens of R spans."""
        logits = self._vocabulary(tokens.reshape(-1, tokens.shape[2]))
        return self._splade.of_tokens(logits.view(*tokens.shape[:2], -1))


def largest(rows: Tensor, most: int) -> Tensor:
    """The same rows [R, terms] with zeros for all but their `most` largest values; of equal ones the earlier stay."""
    if most >= rows.shape[1]:
        return rows
    order = rows.argsort(dim=1, descending=True, stable=True)[:, :most]
    return torch.zeros_like(rows).scatter_(1, order, rows.gather(1, order))
