"""A GPU at the border of `Cuda`, without one: its streams do nothing until somebody waits, as late as any can."""

import weakref
from collections import Counter
from collections.abc import Callable
from threading import local
from typing import Any, TypeVar

import torch
from torch import Tensor, UntypedStorage
from tulip_rose.rose.backends.here import Here
from tulip_rose.rose.cuda import Cuda
from tulip_rose.rose.cuda_device import CudaDevice
from tulip_rose.rose.graphs.cpu_device import Stream
from tulip_rose.rose.graphs.cuda_device import CudaGraphDevice
from tulip_rose.rose.graphs.kit import FrameKit, OffsetsAttention
from tulip_rose.rose.layers.kit import Kit, TorchKit

T = TypeVar("T")
HERE = Here((9, 0), None, None, compiles=False)
POLLS = 3
"""So often a mark is not passed yet for those who poll it."""


class FakeCuda(Cuda):
    """Counts what it is asked. `broken` is raised by everything from then on, `next` by the next step or capture."""

    def __init__(self, current: local | None = None) -> None:
        """`current` has the stream of each thread: those of one process share it, which alone see others' streams."""
        self.device = torch.device("cpu")
        self.asked = Counter[str]()
        self.broken: Exception | None = None
        self.next: Exception | None = None
        self.ends: Exception | None = None
        """Raised by the end of a capture that failed."""
        self.captures: list[tuple[Any, Any]] = []
        """Stream and pool of each."""
        self.stalled = False
        """Whether polling a mark never finds it passed."""
        self._current = current or local()
        self._pools = 0
        self._uses: dict[int, int] = {}
        """Of each pool that was captured into: the graphs that are left, and captures under way."""
        self._unended: set[int] = set()
        """Pools of captures whose end failed: torch takes no other capture into them."""
        self._pinned: dict[int, UntypedStorage] = {}
        """By address. They are kept, so that no other memory ever lies there."""

    def here(self) -> Here:
        return HERE

    def stream(self) -> Stream:
        return Stream()

    def use(self, stream: Any) -> None:
        self._ask("use")
        self._current.stream = stream

    def drain(self, stream: Any) -> None:
        self._ask("drain")
        stream.reach(lambda: False, None)

    def ask(self, stream: Any) -> None:
        self._ask("ask")

    def mark(self, stream: Any) -> "FakeMark":
        self._ask("mark")
        return FakeMark(self, stream)

    def empty(self, count: int, dtype: torch.dtype) -> Tensor:
        self._ask("empty")
        return poisoned((count,), dtype)

    def pinned(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        self._ask("pinned")
        memory = poisoned(shape, dtype)
        storage = memory.untyped_storage()
        self._pinned[storage.data_ptr()] = storage
        return memory

    def copy(self, target: Tensor, source: Tensor) -> None:
        self._ask("copy")
        assert self._is_pinned(target) or self._is_pinned(source), "a copy that would be waited for"

        def work() -> None:
            target.copy_(source)

        self.current.put(work)

    def beside(self, source: Tensor) -> Tensor:
        """Computed at once, as what torch is asked."""
        self._ask("beside")
        assert self._is_pinned(source), "a copy that would be waited for"
        return source.clone()

    def run(self, work: Callable[[], T]) -> T:
        """What torch is asked is computed at once, behind what is on the stream: Python errors come at once too."""
        self._ask("run")
        self._raise_next()
        self.current.reach(lambda: False, None)
        return work()

    def pool(self) -> int:
        self._pools += 1
        return self._pools

    def capture(self, stream: Any, pool: Any, work: Callable[[], None]) -> "FakeCaptured":
        self._ask("capture")
        self.captures.append((stream, pool))
        self._begin(pool)
        try:
            self._raise_next()
            # To record is to run the Python of it; nothing of what it computes counts.
            self.current.reach(lambda: False, None)
            work()
        except Exception:
            if self.ends:
                self._unended.add(pool)
                raise self.ends from None
            self._release(pool)
            raise
        captured = FakeCaptured(self, work)
        weakref.finalize(captured, self._release, pool)
        return captured

    def leave(self, pool: Any) -> bool:
        if pool in self._unended:
            self._release(pool)
        return pool in self._unended

    def _begin(self, pool: int) -> None:
        if pool in self._unended:
            raise RuntimeError("beginAllocateToPool: already recording to mempool_id")
        if self._uses.get(pool) == 0:
            raise RuntimeError("it->second->use_count > 0 INTERNAL ASSERT FAILED")
        self._uses[pool] = self._uses.get(pool, 0) + 1

    def _release(self, pool: int) -> None:
        self._uses[pool] -= 1

    @property
    def current(self) -> Stream:
        """That of the thread, which has one of its own only if it said so."""
        assert hasattr(self._current, "stream"), "on the stream that everybody shares"
        stream: Stream = self._current.stream
        return stream

    def _is_pinned(self, tensor: Tensor) -> bool:
        return tensor.untyped_storage().data_ptr() in self._pinned

    def _ask(self, what: str) -> None:
        self.asked[what] += 1
        if self.broken:
            raise self.broken

    def _raise_next(self) -> None:
        error, self.next = self.next, None
        if error:
            raise error


class FakeMark:
    def __init__(self, cuda: FakeCuda, stream: Stream) -> None:
        self._cuda, self._stream, self._passed, self._polls = cuda, stream, False, 0
        stream.put(self._pass)

    def query(self) -> bool:
        self._cuda._ask("query")
        self._polls += 1
        if self._polls > POLLS and not self._cuda.stalled:
            self._stream.reach(lambda: self._passed, None)
        return self._passed

    def synchronize(self) -> None:
        self._cuda._ask("synchronize")
        self._stream.reach(lambda: self._passed, None)

    def _pass(self) -> None:
        failure = self._stream.take_failure()
        assert failure is None, failure
        self._passed = True


class FakeCaptured:
    def __init__(self, cuda: FakeCuda, work: Callable[[], None]) -> None:
        self._cuda, self._work = cuda, work

    def replay(self) -> None:
        self._cuda._ask("replay")
        self._cuda.current.put(self._work)


class FakeEagerDevice(CudaDevice):
    """The device of CUDA over it whose steps are all eager, with layers of a CPU."""

    def kit(self, dtype: str, attention: str) -> Kit:
        return TorchKit(self.torch_device, "auto")


class FakeGraphDevice(CudaGraphDevice):
    """The device of CUDA over it, with layers of a CPU; its heads run within graphs, or behind them."""

    def __init__(self, cuda: FakeCuda, *, heads_in_graphs: bool = True) -> None:
        super().__init__(cuda)
        self.heads_in_graphs = heads_in_graphs

    def kit(self, dtype: str, attention: str) -> Kit:
        if self.heads_in_graphs:
            return FrameKit(self.torch_device, attention)
        return TorchKit(self.torch_device, OffsetsAttention())


def poisoned(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Memory that no step may read before it is written."""
    value = float("nan") if dtype.is_floating_point else torch.iinfo(dtype).max if dtype != torch.bool else True
    return torch.empty(shape, dtype=dtype).fill_(value)
