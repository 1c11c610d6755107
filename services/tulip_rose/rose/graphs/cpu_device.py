"""`CpuGraphDevice`: what graphs do on a GPU, on a CPU, so that its discipline is tested without one.

Its stream does nothing until somebody waits for an event, which is as late as a stream can be: a pinned buffer that is
rewritten too early, or a result that is read too early, shows in every test, not once in a thousand runs.
"""

from collections import deque
from collections.abc import Callable
from threading import RLock

import torch
from torch import Tensor

from tulip_rose.rose.device import CpuDevice
from tulip_rose.rose.errors import StepError
from tulip_rose.rose.graphs.device import Event, Graph, Step
from tulip_rose.rose.graphs.kit import FrameKit
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.options import GRAPHS_ON_CPU


class Stream:
    """Work in order, done by whoever waits for it."""

    def __init__(self) -> None:
        self._work: deque[Callable[[], None]] = deque()
        self._lock = RLock()
        self._failure: Exception | None = None

    def put(self, work: Callable[[], None]) -> None:
        """Work that is done after all that was put before."""
        self._work.append(work)

    def reach(self, done: Callable[[], bool], timeout_s: float | None) -> None:
        """Work until `done`, or until there is no work.

        Raises:
            TimeoutError: another thread has been at work for that long.
        """
        if not self._lock.acquire(timeout=-1 if timeout_s is None else timeout_s):
            raise TimeoutError(f"a step is not done after {timeout_s} s")
        try:
            with torch.inference_mode():
                while self._work and not done():
                    self._do(self._work.popleft())
        finally:
            self._lock.release()

    def take_failure(self) -> Exception | None:
        """What went wrong since this was asked last."""
        failure, self._failure = self._failure, None
        return failure

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self._failure = self._failure or error


class CpuEvent:
    """See `Event`."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._reached = False
        self._failure: Exception | None = None
        stream.put(self._reach)

    def reached(self) -> bool:
        """See `Event`."""
        return self._reached

    def wait(self, timeout_s: float | None) -> None:
        """See `Event`."""
        self._stream.reach(self.reached, timeout_s)
        if self._failure is not None:
            name = type(self._failure).__name__
            raise StepError(f"step failed: {name}: {self._failure}") from self._failure

    def _reach(self) -> None:
        self._failure = self._stream.take_failure()
        self._reached = True


class CpuGraph:
    """See `Graph`."""

    def __init__(self, stream: Stream, step: Step) -> None:
        self._stream, self._step = stream, step

    def replay(self) -> None:
        """See `Graph`."""
        self._stream.put(self._step)


class CpuGraphDevice(CpuDevice):
    """See `GraphDevice`. `launch` does its work at once, as on any CPU: it touches no static buffer."""

    name = GRAPHS_ON_CPU
    heads_in_graphs = True

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._stream = Stream()

    def kit(self, dtype: str, attention: str) -> Kit:
        """See `Device`."""
        return FrameKit(self.torch_device, attention)

    def empty(self, count: int, dtype: torch.dtype, *, pinned: bool = False) -> Tensor:
        """See `GraphDevice`; all memory is the host's."""
        return torch.empty(count, dtype=dtype)

    def copy(self, target: Tensor, source: Tensor) -> None:
        """See `GraphDevice`."""

        def work() -> None:
            target.copy_(source)

        self._stream.put(work)

    def unload(self, target: Tensor, source: Tensor) -> None:
        """See `GraphDevice`; whoever computes is where the stream is."""
        target.copy_(source)

    def beside(self, source: Tensor) -> Tensor:
        """See `GraphDevice`; whoever computes is where the stream is."""
        return source.clone()

    def prepare(self, work: Step) -> None:
        """See `GraphDevice`."""
        self._stream.put(work)

    def run(self, step: Step) -> None:
        """See `GraphDevice`."""
        self._stream.put(step)

    def capture(self, step: Step) -> Graph:
        """See `GraphDevice`."""
        return CpuGraph(self._stream, step)

    def gone(self) -> str | None:
        """See `GraphDevice`; a CPU stays."""
        return None

    def mark(self) -> Event:
        """See `GraphDevice`."""
        return CpuEvent(self._stream)

    def close(self) -> None:
        """See `Device`."""
        self._stream.reach(lambda: False, None)
        super().close()
