"""`CudaDevice`: a stream of its own; results are copied to pinned memory behind a step, and an event stands behind."""

import logging
import time
from importlib import import_module
from threading import local

import torch
from torch import Tensor

from tulip_rose.rose import lazy
from tulip_rose.rose.backends.chosen import ChosenAttention
from tulip_rose.rose.cuda import Cuda, Mark
from tulip_rose.rose.device import Launched, Work
from tulip_rose.rose.errors import EngineDeadError, RoseError, StepError, TooLargeError
from tulip_rose.rose.failures import Fault, fault_of
from tulip_rose.rose.kernels.here import wanting
from tulip_rose.rose.layers.head import Made, fetched, part_of
from tulip_rose.rose.layers.kit import Kit, TorchKit

_TRITON = "tulip_rose.rose.kernels.kit"
_LOOK_EVERY_S = 50e-6
"""Where somebody waits no longer than so long; CUDA itself knows no such wait."""

_ENTERED = local()
"""Which stream a thread has while it puts a step there: CUDA keeps one a thread, and a thread may have many devices."""

log = logging.getLogger(__name__)


class CudaDevice:
    """See `Device`. Every step is eager.

    All steps go to the stream of the device, whichever one their thread has at that time: what steps leave in memory
    that they share is in order on this stream alone, so that a mark on another one would be none. The stream is set
    once for each step, and left: work of its own a thread puts where it wants it by `torch.cuda.stream`, around it.
    """

    def __init__(self, cuda: Cuda) -> None:
        self.torch_device = cuda.device
        self.name = str(cuda.device)
        self._cuda = cuda
        self._stream = cuda.stream()

    def kit(self, dtype: str, attention: str) -> Kit:
        """See `Device`. Triton is imported where its kernels can be compiled, and nowhere else."""
        # What follows are the weights: the stream that makes them is that of the steps that read them.
        self._cuda.use(self._stream)
        _ENTERED.stream = None
        chosen, lacking = ChosenAttention(attention, self.torch_device, self._cuda.here()), wanting()
        if lacking is not None:
            log.warning("no kernels of our own (%s): torch does their work", lacking)
            return TorchKit(self.torch_device, chosen)
        made: Kit = import_module(_TRITON).TritonKit(chosen)
        return made

    def launch(self, work: Work, rows: int) -> Launched:
        """See `Device`."""
        try:
            self.enter()
            with torch.inference_mode():
                made = self._cuda.run(lambda: [fetched(each, self.fetch) for each in work()])
            return CudaLaunched(self.mark(), made)
        except RoseError:
            raise
        except Exception as error:
            raise self._failure(error, rows) from error
        finally:
            _ENTERED.stream = None

    def _failure(self, error: Exception, rows: int) -> RoseError:
        fault, gone = fault_of(error), self.gone()
        if gone is not None or fault is Fault.DEVICE:
            return EngineDeadError(f"{self.name} failed: {gone or error}")
        if fault is Fault.ROOM:
            log.warning("a step of %d tokens had no room, its batch is split: %s", rows, error)
            return TooLargeError(f"{rows} tokens: no room in memory")
        return StepError(f"step not launched: {type(error).__name__}: {error}")

    def enter(self) -> None:
        """Make the stream that of the calling thread, up to the next mark; then others may have set another one."""
        if getattr(_ENTERED, "stream", None) is not self._stream:
            self._cuda.use(self._stream)
            _ENTERED.stream = self._stream

    def fetch(self, tensor: Tensor) -> Tensor:
        """A copy in pinned memory, which is there when the stream gets there."""
        host = self._cuda.pinned(tuple(tensor.shape), tensor.dtype)
        self._cuda.copy(host, tensor)
        return host

    def load(self, tensor: Tensor) -> Tensor:
        """See `Device`. Torch hands pinned memory out again when the stream has passed the copies out of it."""
        host = self._cuda.pinned(tuple(tensor.shape), tensor.dtype)
        host.copy_(tensor)
        return self._cuda.beside(host)

    def mark(self) -> "CudaEvent":
        """An event behind everything that is on the stream by now; a step ends with it."""
        _ENTERED.stream = None
        return CudaEvent(self.name, self._cuda.mark(self._stream))

    def gone(self) -> str | None:
        """Why the device can do nothing more; None while it can. Errors that stay are raised by every call."""
        try:
            self._cuda.ask(self._stream)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    def close(self) -> None:
        """See `Device`; one that is gone is left to the end of the process."""
        try:
            self._cuda.drain(self._stream)
        except Exception as error:
            log.error("%s could not finish what was under way: %s", self.name, error)


class CudaEvent:
    """A place in the stream."""

    def __init__(self, device: str, mark: Mark) -> None:
        self._device, self._mark = device, mark

    def reached(self) -> bool:
        """Whether `wait` would return or raise at once."""
        try:
            return self._mark.query()
        except Exception as error:
            log.error("%s failed: %s", self._device, error)
            return True

    def wait(self, timeout_s: float | None) -> None:
        """Wait until everything before it is done.

        Raises:
            TimeoutError: not within `timeout_s` seconds.
            EngineDeadError: the device failed; what fails on the stream fails for good.
        """
        try:
            there = self._wait(timeout_s)
        except Exception as error:
            raise EngineDeadError(f"{self._device} failed: {error}") from error
        if not there:
            raise TimeoutError(f"a step is not done after {timeout_s} s")

    def _wait(self, timeout_s: float | None) -> bool:
        if timeout_s is None:
            self._mark.synchronize()
            return True
        end = time.monotonic() + timeout_s
        while not (there := self._mark.query()) and time.monotonic() < end:
            time.sleep(_LOOK_EVERY_S)
        return there


class CudaLaunched:
    """An eager step on a stream."""

    def __init__(self, event: CudaEvent, made: list[Made]) -> None:
        self._event, self._made = event, made
        self.came = 0.0

    def reached(self) -> bool:
        """See `Launched`."""
        return self._event.reached()

    def wait(self, timeout_s: float | None) -> tuple[lazy.Part, ...]:
        """See `Launched`."""
        self._event.wait(timeout_s)
        self.came = self.came or time.monotonic()
        try:
            return tuple(map(part_of, self._made))
        except Exception as error:
            raise StepError(f"step failed: {type(error).__name__}: {error}") from error
