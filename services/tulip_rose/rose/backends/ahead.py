"""`PlansAhead`: an attention that the host has to speak to before a step over static buffers. Knows no backend."""

from typing import Protocol, runtime_checkable

from torch import Tensor

from tulip_rose.rose.batch import Ragged


@runtime_checkable
class PlansAhead(Protocol):
    """What steps over static buffers owe to such an attention, replayed ones too."""

    def plan_ahead(self, starts: Tensor) -> None:
        """Say where the sequences of the next step begin, on the stream of the step and right before it.

        Args:
            starts: int32 [slots + 1], on the host, as the padding law has it; read until the step is done.
        """

    def suits(self, ragged: Ragged) -> bool:
        """Whether these sequences can be attended in a step over static buffers; asked with lengths of the host."""
