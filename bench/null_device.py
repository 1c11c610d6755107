"""A device with graphs that does nothing, at once: what is left of a step is what the host does for it."""

from collections.abc import Callable

import torch
from torch import Tensor
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice


class NullEvent:
    """Reached from the start."""

    def reached(self) -> bool:
        return True

    def wait(self, timeout_s: float | None) -> None:
        pass


class NullGraph:
    """Of nothing."""

    def replay(self) -> None:
        pass


class NullDevice(CpuGraphDevice):
    """Steps are done at once until `off` is set, and not at all afterwards."""

    def __init__(self) -> None:
        super().__init__(1)
        self.off = False

    def copy(self, target: Tensor, source: Tensor) -> None:
        if not self.off:
            target.copy_(source)

    def run(self, step: Callable[[], None]) -> None:
        with torch.inference_mode():
            step()

    def capture(self, step: Callable[[], None]) -> NullGraph:
        return NullGraph()

    def mark(self) -> NullEvent:
        return NullEvent()
