"""`PlansAhead`: an attention that the host has to speak to before a step over static buffers. Knows no backend.

And `Takes`: one that takes memory of its own for such steps.
"""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from torch import Tensor

from tulip_rose.rose.backends.asked import Asked
from tulip_rose.rose.plan.memory import AttentionNeeds


@runtime_checkable
class PlansAhead(Protocol):
    """What steps over static buffers owe to such an attention, replayed ones too."""

    def plan_ahead(self, starts: Tensor) -> None:
        """Say where the sequences of the next step begin, on the stream of the step and right before it.

        Args:
            starts: int32 [slots + 1], on the host, as the padding law has it; read until the step is done.
        """

    def suits(self, *, partly: bool) -> bool:
        """Whether a batch can be attended in a step over static buffers; `partly`: some of its tokens are not seen."""


@runtime_checkable
class Takes(Protocol):
    """What says beforehand which memory it will take."""

    def needs(self, kinds: Iterable[Asked], sizes: int) -> AttentionNeeds:
        """Memory for layers of these kinds, in steps of so many sizes."""
