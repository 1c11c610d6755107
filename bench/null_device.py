"""A device with graphs that does nothing, at once: what is left of a step is what the host does for it."""

from collections.abc import Callable

import torch
from torch import Tensor
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice


class NullEvent:
    """Reached from the start."""

    def reached(self) -> bool:
        """See `Event`."""
        return True

    def wait(self, timeout_s: float | None) -> None:
        """See `Event`."""


class NullGraph:
    """Of nothing."""

    def replay(self) -> None:
        """See `Graph`."""


class NullDevice(CpuGraphDevice):
    """Steps are done at once until `off` is set, and not at all afterwards."""

    def __init__(self) -> None:
        super().__init__(1)
        self.off = False

    def empty(self, count: int, dtype: torch.dtype, *, pinned: bool = False) -> Tensor:
        """See `GraphDevice`; ones, so that rows which nobody makes count as finite."""
        return torch.ones(count, dtype=dtype)

    def copy(self, target: Tensor, source: Tensor) -> None:
        """See `GraphDevice`."""
        if not self.off:
            target.copy_(source)

    def run(self, step: Callable[[], None]) -> None:
        """See `GraphDevice`."""
        if not self.off:
            with torch.inference_mode():
                step()

    def capture(self, step: Callable[[], None]) -> NullGraph:
        """See `GraphDevice`."""
        return NullGraph()

    def mark(self) -> NullEvent:
        """See `GraphDevice`."""
        return NullEvent()
