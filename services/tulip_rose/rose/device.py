"""Where steps run: one protocol, and the device of a CPU; that of CUDA is in `cuda_device`.

A device runs the steps that it is given one after the other, in order, and never two at once. On CUDA `launch` returns
before the step is done, and an event recorded on a stream tells when it is; on CPU the thread that launches is the
stream, and a step is over when `launch` returns.
"""

import logging
import os
import time
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from tulip_rose.rose.errors import EngineDeadError, StepError
from tulip_rose.rose.layers.head import Made, part_of
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

    came: float
    """When the device was seen to be done with it, in `time.monotonic()` seconds; 0.0 before."""

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

    def load(self, tensor: Tensor) -> Tensor:
        """Called by work: what lies on the host, where states are."""

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
            made = _run(work, threads)
            came = time.monotonic()
            return CpuLaunched(tuple(map(part_of, made)), None, came)
        except BaseException as error:
            return CpuLaunched((), error, time.monotonic())

    def load(self, tensor: Tensor) -> Tensor:
        """See `Device`; it is there."""
        return tensor

    def close(self) -> None:
        """See `Device`."""
        if self._team:
            self._team.close()


def _run(work: Work, threads: int) -> list[Made]:
    before = torch.get_num_threads()
    if before != threads:
        torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            return work()
    finally:
        if before != threads:
            torch.set_num_threads(before)


class CpuLaunched:
    """A step that is over, with its outcome."""

    def __init__(self, parts: tuple[Part, ...], failure: BaseException | None, came: float) -> None:
        self._parts, self._failure, self.came = parts, failure, came

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
