"""`Growing`: pinned memory for what a step exchanges with heads behind it, of whose sizes nobody knows before."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

import torch
from torch import Tensor

from tulip_rose.rose.graphs.device import GraphDevice
from tulip_rose.rose.graphs.layout import grown

Place = Callable[[Tensor], Tensor]
"""Pinned memory of the size, the dtype and the shape of a tensor."""


class Growing:
    """Of one slot. What comes first in a step has the memory of what came first in the step before, and so on.

    It is taken when it is asked for the first time, and again where more is needed, in sizes that are powers of two.
    """

    def __init__(self, device: GraphDevice) -> None:
        self._device, self._held = device, list[Tensor]()

    def places(self) -> Iterator[Place]:
        """Those of one step, one after the other."""
        return (partial(self._place, number) for number in count())

    def _place(self, number: int, like: Tensor) -> Tensor:
        if number == len(self._held):
            self._held.append(torch.empty(0, dtype=torch.uint8))
        if self._held[number].shape[0] < like.nbytes:
            self._held[number] = self._device.empty(grown(like.nbytes), torch.uint8, pinned=True)
        return self._held[number][: like.nbytes].view(like.dtype).view(like.shape)
