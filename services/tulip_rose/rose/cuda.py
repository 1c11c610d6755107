"""`Cuda`: everything that is asked of `torch.cuda`, one call each. Decides nothing.

Devices and what counts memory go through here, so that they run in tests without a GPU, and what a test cannot show is
as little as it can be.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from tulip_rose.rose.backends.here import Here, look
from tulip_rose.rose.errors import LoadError

T = TypeVar("T")


class Mark(Protocol):
    """What is used of `torch.cuda.Event`."""

    def query(self) -> bool:
        """Whether the stream has passed it."""

    def synchronize(self) -> None:
        """Wait until it has."""


class Captured(Protocol):
    """What is used of `torch.cuda.CUDAGraph` once it is captured."""

    def replay(self) -> None:
        """Put it on the current stream."""


class Cuda:
    """The current GPU."""

    def __init__(self) -> None:
        """Find it.

        Raises:
            LoadError: torch finds none.
        """
        if not torch.cuda.is_available():
            raise LoadError("device cuda was asked for, and torch finds none here")
        self.device = torch.device("cuda", torch.cuda.current_device())

    def here(self) -> Here:
        """What there is for attention."""
        return look(self.device)

    def stream(self) -> Any:
        """A new one."""
        return torch.cuda.Stream(self.device)

    def use(self, stream: Any) -> None:
        """Make it the current one of the calling thread, and its GPU as well."""
        torch.cuda.set_stream(stream)

    def drain(self, stream: Any) -> None:
        """Wait until nothing is left on it."""
        stream.synchronize()

    def ask(self, stream: Any) -> None:
        """Ask the driver about a stream, which raises what is wrong with the device, if anything is."""
        stream.query()

    def mark(self, stream: Any) -> Mark:
        """An event behind everything that is on a stream."""
        event = torch.cuda.Event()
        event.record(stream)
        return event

    def empty(self, count: int, dtype: torch.dtype) -> Tensor:
        """Memory of the device."""
        return torch.empty(count, dtype=dtype, device=self.device)

    def pinned(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Memory of the host that the device reads and writes by itself."""
        return torch.empty(shape, dtype=dtype, pin_memory=True)

    def copy(self, target: Tensor, source: Tensor) -> None:
        """Put a copy on the current stream."""
        target.copy_(source, non_blocking=True)

    def beside(self, source: Tensor) -> Tensor:
        """Put a copy of pinned memory into new memory of the device on the current stream."""
        return source.to(self.device, non_blocking=True)

    def run(self, work: Callable[[], T]) -> T:
        """Put what it asks of torch on the current stream."""
        return work()

    def pool(self) -> Any:
        """A new pool of memory that graphs share."""
        return torch.cuda.graph_pool_handle()

    def capture(self, stream: Any, pool: Any, work: Callable[[], None]) -> Captured:
        """Record what it asks of torch, on a stream of its own.

        By hand, since torch's context manager waits for the whole device first. Other threads may go on meanwhile.
        """
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream):
            graph.capture_begin(pool=pool, capture_error_mode="thread_local")
            try:
                work()
            finally:
                graph.capture_end()
        return graph

    def leave(self, pool: Any) -> bool:
        """After a capture that failed: end what it takes from a pool, and whether that was left to do.

        Torch ends the capture first; where that fails it goes no further, and the pool counts as one that is captured
        into and as one that has another graph. Its memory of the host stays so: nobody can capture into it any more.
        """
        try:
            torch._C._cuda_endAllocateToPool(self.device.index, pool)
        except RuntimeError:
            return False
        torch._C._cuda_releasePool(self.device.index, pool)
        return True


def free_bytes(device: torch.device) -> int | None:
    """Of a device with memory of its own, as its driver tells it; None: it has none."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else None


def used_bytes(device: torch.device) -> int:
    """What this process has taken of a device with memory of its own, the driver's share left out; else 0."""
    return torch.cuda.memory_reserved(device) if device.type == "cuda" else 0
