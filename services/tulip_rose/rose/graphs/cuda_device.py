"""`CudaGraphDevice`: CUDA graphs, captured on a stream beside that of the steps, sharing one pool of memory.

A graph keeps the addresses that it was captured with. Its inputs and outputs are static buffers, and what it computes
in between lies in the pool, which all graphs write over: no two of them run at once, since one stream replays them all.
"""

import weakref
from threading import local
from typing import Any

import torch
from torch import Tensor

from tulip_rose.rose.cuda import Captured, Cuda
from tulip_rose.rose.cuda_device import CudaDevice
from tulip_rose.rose.graphs.device import CaptureError, Graph, Step
from tulip_rose.rose.layers.kit import Kit, TorchKit


class CudaGraphDevice(CudaDevice):
    """See `GraphDevice`."""

    heads_in_graphs = False

    def __init__(self, cuda: Cuda) -> None:
        super().__init__(cuda)
        self._beside = cuda.stream()
        self._pool: Any = None
        self._sharing = weakref.WeakSet[CudaGraph]()
        """The graphs in the pool; where there is none, the next one has a new pool."""
        self._thread = local()

    def kit(self, dtype: str, attention: str) -> Kit:
        """See `Device`. Torch's heads read spans on the host, so that they run behind graphs; ours read tensors."""
        kit = super().kit(dtype, attention)
        self.heads_in_graphs = not isinstance(kit, TorchKit)
        return kit

    def empty(self, count: int, dtype: torch.dtype, *, pinned: bool = False) -> Tensor:
        """See `GraphDevice`."""
        return self._cuda.pinned((count,), dtype) if pinned else self._cuda.empty(count, dtype)

    def copy(self, target: Tensor, source: Tensor) -> None:
        """See `GraphDevice`."""
        self.enter()
        self._cuda.copy(target, source)

    def unload(self, target: Tensor, source: Tensor) -> None:
        """See `GraphDevice`."""
        self._cuda.copy(target, source)

    def beside(self, source: Tensor) -> Tensor:
        """See `GraphDevice`."""
        return self._cuda.beside(source)

    def prepare(self, work: Step) -> None:
        """See `GraphDevice`."""
        self.enter()
        with torch.inference_mode():
            self._cuda.run(work)

    def run(self, step: Step) -> None:
        """See `GraphDevice`."""
        self.prepare(step)
        self._thread.ran = True

    def capture(self, step: Step) -> Graph:
        """See `GraphDevice`."""
        self.enter()
        if not getattr(self._thread, "ran", False):
            # Libraries have a handle for each thread, and none can be made while a stream is captured.
            self.run(step)
        if not self._sharing:
            # Torch takes no capture into a pool that has no graph any more.
            self._pool = self._cuda.pool()
        try:
            with torch.inference_mode():
                captured = self._cuda.capture(self._beside, self._pool, step)
        except Exception as error:
            if self.gone() is not None:
                raise
            if self._cuda.leave(self._pool):
                # Nobody can capture into it any more: the next graph has another one.
                self._sharing = weakref.WeakSet()
            # Where ending the capture fails too, it says less than what went wrong before.
            cause = error.__context__ or error
            raise CaptureError(f"{type(cause).__name__}: {cause}") from error
        graph = CudaGraph(self, captured)
        self._sharing.add(graph)
        return graph


class CudaGraph:
    """See `Graph`."""

    def __init__(self, device: CudaGraphDevice, captured: Captured) -> None:
        self._device, self._captured = device, captured

    def replay(self) -> None:
        """See `Graph`."""
        self._device.enter()
        self._captured.replay()
