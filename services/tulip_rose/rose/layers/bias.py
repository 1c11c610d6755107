"""`Bias`: what is added to the logits of attention by the distance from a query to a key."""

from functools import cached_property

import torch
from torch import Tensor


class Bias:
    """One value a head and distance."""

    def __init__(self, by_distance: Tensor) -> None:
        """Take float32 [heads, 2 · reach + 1], contiguous: of distances −reach (keys before the query) to reach."""
        self.by_distance = by_distance
        self.reach = by_distance.shape[1] // 2

    def square(self, length: int) -> Tensor:
        """For all queries and keys of a sequence of at most reach + 1 tokens: [heads, length, length], a view."""
        return self._square[:, :length, :length]

    @cached_property
    def _square(self) -> Tensor:
        at = torch.arange(self.reach + 1, device=self.by_distance.device)
        return self.by_distance[:, at[None, :] - at[:, None] + self.reach]
