"""Opening the device of a name, with graphs or without."""

import torch

from tulip_rose.rose.cuda import Cuda
from tulip_rose.rose.cuda_device import CudaDevice
from tulip_rose.rose.device import CpuDevice, Device
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.graphs.cuda_device import CudaGraphDevice
from tulip_rose.rose.options import DEVICES, GRAPHS_ON_CPU


def open_device(name: str, threads: int, mode: str = "lazy") -> Device:
    """The device of that name; `auto` takes CUDA where torch finds it. In the mode off it has no graphs.

    Raises:
        LoadError: not known, or not there.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    graphs = mode != "off"
    if name == "cuda":
        return CudaGraphDevice(Cuda()) if graphs else CudaDevice(Cuda())
    if name == GRAPHS_ON_CPU and graphs:
        return CpuGraphDevice(threads)
    if name in ("cpu", GRAPHS_ON_CPU):
        return CpuDevice(threads)
    raise LoadError(f"device {name!r} is not known; known are {', '.join(DEVICES)}")
