"""What an exception of a device means: is this step lost, has it no room, or is the device gone? Pure.

CUDA tells most of its errors late and keeps some for good: after an illegal access every call of the process fails with
the same error, until the process ends. What is not known to leave the device well counts as such a one, since an engine
that goes on with a broken device fails everything that it is given.
"""

from enum import Enum

import torch


class Fault(Enum):
    """What is lost."""

    ROOM = "room"
    """This step had no room; a smaller one may have."""
    STEP = "step"
    """This step alone."""
    DEVICE = "device"
    """Everything: the process has to end."""


_ROOM = (
    "out of memory",
    "outofmemory",
    "out_of_memory",
    "memoryallocation",
    "status_alloc_failed",
    "failed to allocate",
)
"""In what torch, its libraries and the compilers of kernels say."""
_HARMLESS = (
    "invalid argument",
    "invalid configuration argument",
    "invalid device function",
    "no kernel image is available",
    "too many resources requested for launch",
    "operation not permitted when stream is capturing",
    "operation failed due to a previous error during capture",
    "dependency created on uncaptured work",
    "operation would make the legacy stream depend on a capturing",
    "out of resource",
    "invalid_value",
    "launch_out_of_resources",
    "no_binary_for_gpu",
)
"""A call was refused, and nothing ran: the CUDA runtime in its own words, and the names of the same errors."""
_OF_A_DEVICE = ("cuda error", "cuda_error", "cudaerror", "[cuda]", "cublas_status", "cudnn_status", "cusolver_status")


def fault_of(error: BaseException) -> Fault:
    """What an exception means that a step raised, or whoever waited for it."""
    said = f"{type(error).__name__}: {error}".lower()
    if isinstance(error, torch.OutOfMemoryError) or (_tells_of_a_device(error, said) and _any(_ROOM, said)):
        return Fault.ROOM
    if _tells_of_a_device(error, said):
        return Fault.STEP if _any(_HARMLESS, said) else Fault.DEVICE
    return Fault.STEP if isinstance(error, Exception) else Fault.DEVICE


def _tells_of_a_device(error: BaseException, said: str) -> bool:
    return isinstance(error, torch.AcceleratorError) or _any(_OF_A_DEVICE, said)


def _any(words: tuple[str, ...], said: str) -> bool:
    return any(word in said for word in words)
