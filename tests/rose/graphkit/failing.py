"""A device of graphs that fails as a test tells it."""

from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.graphs.device import Graph, Step


class Failing(CpuGraphDevice):
    """Fails as it is told."""

    def __init__(self) -> None:
        super().__init__(1)
        self.captures: Exception | None = None
        self.steps: Exception | None = None

    def capture(self, step: Step) -> Graph:
        if self.captures:
            raise self.captures
        return super().capture(step)

    def run(self, step: Step) -> None:
        if self.steps:
            raise self.steps
        super().run(step)
