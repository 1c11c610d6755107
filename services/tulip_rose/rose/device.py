"""Where steps run: one protocol, a CPU and a CUDA device behind it.

A device runs the steps that it is given one after the other, in order, and never two at once. On CUDA `launch` returns
before the step is done, and an event recorded on a stream tells when it is; on CPU the thread that launches is the
stream, and a step is over when `launch` returns.
"""

import logging
import os
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from tulip_rose.rose.backends.chosen import ChosenAttention
from tulip_rose.rose.backends.here import look
from tulip_rose.rose.errors import EngineDeadError, LoadError, StepError
from tulip_rose.rose.layers.head import Made
from tulip_rose.rose.layers.kit import Kit, NativeKit, TorchKit
from tulip_rose.rose.lazy import Part
from tulip_rose.rose.native.library import Team, missing, serves

log = logging.getLogger(__name__)

Work = Callable[[], list[Made]]

_ONE_THREAD_ROWS = 64
"""Up to so many rows one thread of torch is faster than two: a step has some hundred parallel regions, and to begin and
end one costs about as much as half of its work. It also leaves the other cores to whoever prepares the next batch."""


class Launched(Protocol):
    """A step under way."""

    def reached(self) -> bool:
        """Whether `wait` would return or raise at once."""

    def wait(self, timeout_s: float | None) -> tuple[Part, ...]:
        """The result in host memory.

        Raises:
            TimeoutError: not within `timeout_s` seconds.
            StepError: this step failed.
            EngineDeadError: the device can do nothing more.
        """


class Device(Protocol):
    """Runs steps in order."""

    name: str
    """E.g. cpu, cuda:0."""
    torch_device: torch.device

    def kit(self, dtype: str, attention: str) -> Kit:
        """The layers for a model in that dtype, with the attention backend of that name; called once.

        Raises:
            LoadError: no such backend here.
        """

    def launch(self, work: Work, rows: int) -> Launched:
        """Begin a step over so many token rows, after those launched before."""

    def close(self) -> None:
        """Give back what the device holds; steps under way are finished first."""


class CpuDevice:
    """The caller's thread as the stream, with a team of threads at its side.

    A thread of its own would cost two hand-overs a step, 0.25 ms, to overlap what takes a hundredth of a step.
    """

    name = "cpu"

    def __init__(self, threads: int) -> None:
        self.torch_device = torch.device("cpu")
        self._threads = threads or len(os.sched_getaffinity(0))
        self._team: Team | None = None

    def kit(self, dtype: str, attention: str) -> Kit:
        """See `Device`."""
        if not serves(dtype):
            log.info("no own kernels for %s on this machine (%s): torch does their work", dtype, missing(dtype))
            return TorchKit(self.torch_device, attention)
        self._team = Team(self._threads)
        return NativeKit(self._team, attention)

    def launch(self, work: Work, rows: int) -> Launched:
        """See `Device`."""
        threads = 1 if self._team or rows <= _ONE_THREAD_ROWS else self._threads
        try:
            return CpuLaunched(_run(work, threads), None)
        except BaseException as error:
            return CpuLaunched((), error)

    def close(self) -> None:
        """See `Device`."""
        if self._team:
            self._team.close()


def _run(work: Work, threads: int) -> tuple[Part, ...]:
    before = torch.get_num_threads()
    if before != threads:
        torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            return tuple(map(_part_of, work()))
    finally:
        if before != threads:
            torch.set_num_threads(before)


def _part_of(made: Made) -> Part:
    """The same rows, as they lie in host memory."""
    return Part(made.rows.numpy(), made.finite.numpy(), None if made.starts is None else made.starts.numpy())


class CpuLaunched:
    """A step that is over, with its outcome."""

    def __init__(self, parts: tuple[Part, ...], failure: BaseException | None) -> None:
        self._parts, self._failure = parts, failure

    def reached(self) -> bool:
        """See `Launched`."""
        return True

    def wait(self, timeout_s: float | None) -> tuple[Part, ...]:
        """See `Launched`."""
        failure = self._failure
        if failure is None:
            return self._parts
        if isinstance(failure, Exception):
            raise StepError(f"step failed: {type(failure).__name__}: {failure}") from failure
        raise EngineDeadError(f"step ended by {type(failure).__name__}") from failure


class CudaDevice:
    """A stream of its own; results are copied to pinned memory behind the step, and an event stands behind the copy."""

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise LoadError("device cuda was asked for, and torch finds none here")
        self.torch_device = torch.device("cuda", torch.cuda.current_device())
        self.name = str(self.torch_device)
        self._stream = torch.cuda.Stream()

    def kit(self, dtype: str, attention: str) -> Kit:
        """See `Device`."""
        return TorchKit(self.torch_device, ChosenAttention(attention, self.torch_device, look(self.torch_device)))

    def launch(self, work: Work, rows: int) -> Launched:
        """See `Device`."""
        try:
            with torch.inference_mode(), torch.cuda.stream(self._stream):
                host = [_to_host(made) for made in work()]
                event = torch.cuda.Event()
                event.record(self._stream)
        except torch.AcceleratorError as error:
            raise EngineDeadError(f"{self.name} failed: {error}") from error
        return CudaLaunched(self.name, event, host)

    def close(self) -> None:
        """See `Device`."""
        self._stream.synchronize()


def _to_host(made: Made) -> Made:
    starts = None if made.starts is None else _to_pinned(made.starts)
    return Made(_to_pinned(made.rows), _to_pinned(made.finite), starts)


def _to_pinned(tensor: Tensor) -> Tensor:
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    return host.copy_(tensor, non_blocking=True)


class CudaLaunched:
    """A step on a stream."""

    def __init__(self, name: str, event: "torch.cuda.Event", host: list[Made]) -> None:
        self._name, self._event, self._host = name, event, host

    def reached(self) -> bool:
        """See `Launched`."""
        return bool(self._event.query())

    def wait(self, timeout_s: float | None) -> tuple[Part, ...]:
        """See `Launched`; CUDA has no timed wait, the watch over the engine thread stands in for it."""
        try:
            self._event.synchronize()
        except torch.AcceleratorError as error:
            raise EngineDeadError(f"{self._name} failed: {error}") from error
        return tuple(map(_part_of, self._host))


def open_device(name: str, threads: int) -> Device:
    """The device of that name; `auto` takes CUDA where torch finds it.

    Raises:
        LoadError: not known, or not there.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cpu":
        return CpuDevice(threads)
    if name == "cuda":
        return CudaDevice()
    raise LoadError(f"device {name!r} is not known; known are auto, cpu, cuda")
