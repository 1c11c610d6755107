"""Errors of CUDA, as torch raises them."""

import torch

STICKY = torch.AcceleratorError("CUDA error: an illegal memory access was encountered")
NO_ROOM = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
UNSUPPORTED = torch.AcceleratorError("CUDA error: operation not permitted when stream is capturing")
INVALIDATED = torch.AcceleratorError("CUDA error: operation failed due to a previous error during capture")
