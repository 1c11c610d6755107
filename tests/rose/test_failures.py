import pytest
import torch
from tulip_rose.rose.failures import Fault, fault_of


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has 139 GiB in all"),
        torch.AcceleratorError("CUDA error: out of memory"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError("Triton Error [CUDA]: out of memory"),
        RuntimeError("CUDA_ERROR_OUT_OF_MEMORY: cuMemAlloc"),
    ],
)
def test_what_had_no_room_is_tried_in_halves(error: Exception) -> None:
    assert fault_of(error) is Fault.ROOM


@pytest.mark.parametrize(
    "error",
    [
        IndexError("index 7 is out of bounds"),
        ValueError("head_dim 12 is not supported"),
        RuntimeError("The size of tensor a (3) must match the size of tensor b (4)"),
        # Of the host: halves of the batch would not help.
        MemoryError("out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
        torch.AcceleratorError("CUDA error: invalid configuration argument"),
        torch.AcceleratorError("CUDA error: no kernel image is available for execution on the device"),
        RuntimeError("Triton Error [CUDA]: invalid argument"),
    ],
)
def test_what_never_ran_is_lost_alone(error: Exception) -> None:
    assert fault_of(error) is Fault.STEP


@pytest.mark.parametrize(
    "error",
    [
        torch.AcceleratorError("CUDA error: an illegal memory access was encountered"),
        torch.AcceleratorError("CUDA error: device-side assert triggered"),
        torch.AcceleratorError("CUDA error: unspecified launch failure"),
        torch.AcceleratorError("CUDA error: uncorrectable ECC error encountered"),
        torch.AcceleratorError("CUDA error: something that nobody has seen yet"),
        RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx(...)`"),
        RuntimeError("Triton Error [CUDA]: an illegal memory access was encountered"),
        RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS"),
        SystemExit(3),
    ],
)
def test_what_may_have_left_the_device_broken_ends_the_process(error: BaseException) -> None:
    assert fault_of(error) is Fault.DEVICE
