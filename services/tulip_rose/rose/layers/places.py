"""Places: which row of a table of places each token reads. The row is added to the vector of the token's word.

The table holds a row for each position; where tokens have types, one such table for each type, one after the other,
with the vector of the type added to each row.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tulip_rose.rose.inputs import Inputs

Place = Callable[[Inputs], Tensor]
"""Row of each token, int64 [T]."""


def in_order(inputs: Inputs) -> Tensor:
    """Tokens by their position alone. See `Place`."""
    return inputs.positions


@dataclass(frozen=True, slots=True)
class Places:
    """Tokens by position and type. See `Place`."""

    positions: int
    """Rows of each type."""
    types: int = 0
    """That the model has; with 0 or 1, what a caller says of types changes nothing."""
    padding: int | None = None
    """The id that stands for padding, where it is not counted: every such token has the row of that number, and the
    first of the others has the row after it."""

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence that has places for all."""
        return self.positions if self.padding is None else self.positions - self.padding - 1

    def __call__(self, inputs: Inputs) -> Tensor:
        """See `Place`.

        Raises:
            IndexError: a sequence is too long, or, on a CPU, a type is unknown.
        """
        self.check(inputs)
        rows = inputs.positions if self.padding is None else _counted(inputs, self.padding)
        types = self.told_types(inputs)
        return rows if types is None else types * self.positions + rows

    def check(self, inputs: Inputs) -> None:
        """Check that every sequence has places for all of its tokens.

        Raises:
            IndexError: one has not.
        """
        if inputs.ragged.longest > self.longest:
            raise IndexError(f"{inputs.ragged.longest} tokens in a model of {self.longest} positions")

    def told_types(self, inputs: Inputs) -> Tensor | None:
        """The types of tokens, where the model tells them apart and anybody said what they are."""
        return inputs.token_types if self.types > 1 else None


def _counted(inputs: Inputs, padding: int) -> Tensor:
    """`padding` plus the number of tokens in the sequence up to this one, padding not counted; for padding itself 0."""
    kept = inputs.token_ids != padding
    counted = kept.cumsum(0)
    begins = torch.arange(kept.shape[0], device=kept.device) - inputs.positions
    before = (counted - kept.long())[begins]
    return (counted - before) * kept + padding
