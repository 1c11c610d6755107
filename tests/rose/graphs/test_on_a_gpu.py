"""What only a GPU can show of a device: captures go on after one that broke, and a thread may have other streams."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from tulip_rose.rose.cuda import Cuda
from tulip_rose.rose.graphs.cuda_device import CudaGraphDevice
from tulip_rose.rose.graphs.device import CaptureError, Graph

pytestmark = pytest.mark.gpu


class Doubling:
    """Static buffers of a device, and a step from one to the other."""

    def __init__(self, device: CudaGraphDevice) -> None:
        self._device = device
        self.given, self._made = (device.empty(4, torch.float32) for _ in range(2))
        self._into, self._out = (device.empty(4, torch.float32, pinned=True) for _ in range(2))

    def step(self) -> None:
        self._made.copy_(self.given * 2)

    def replayed(self, graph: Graph, value: float) -> list[float]:
        self._into.fill_(value)
        self._device.copy(self.given, self._into)
        graph.replay()
        self._device.copy(self._out, self._made)
        self._device.mark().wait(30)
        return self._out.tolist()


def waits(given: Tensor) -> None:
    """Which no capture can hold: it cannot be ended either."""
    given.sum().item()


def raises(given: Tensor) -> None:
    """Which ends a capture as any does."""
    given.mul(2)
    raise ValueError("in the step")


@pytest.fixture
def device() -> CudaGraphDevice:
    return CudaGraphDevice(Cuda())


@pytest.mark.parametrize("breaks", [waits, raises])
def test_after_a_capture_that_breaks_another_is_replayed_beside_those_that_are_there(
    device: CudaGraphDevice, breaks: Callable[[Tensor], None]
) -> None:
    doubling, graphs = Doubling(device), list[Graph]()
    device.run(doubling.step)
    for _ in range(3):
        with pytest.raises(CaptureError):
            device.capture(lambda: breaks(doubling.given))
        graphs.append(device.capture(doubling.step))
        for value, graph in enumerate(graphs):
            assert doubling.replayed(graph, value) == [2.0 * value] * 4


def test_devices_take_turns_in_a_thread_that_works_on_streams_of_its_own(device: CudaGraphDevice) -> None:
    both = [Doubling(each) for each in (device, CudaGraphDevice(Cuda()))]
    graphs = [each._device.capture(each.step) for each in both]
    for value in range(100):
        for doubling, graph in zip(both, graphs, strict=True):
            with torch.cuda.stream(torch.cuda.Stream()):
                assert doubling.replayed(graph, value) == [2.0 * value] * 4
