"""Opening the device of a name, those with graphs included."""

from tulip_rose.rose import device
from tulip_rose.rose.device import Device
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.options import GRAPHS_ON_CPU


def open_device(name: str, threads: int, mode: str = "lazy") -> Device:
    """As `device.open_device`, which knows no graphs; nor does what is opened here in the mode off.

    Raises:
        LoadError: not known, or not there.
    """
    if name != GRAPHS_ON_CPU:
        return device.open_device(name, threads)
    return device.CpuDevice(threads) if mode == "off" else CpuGraphDevice(threads)
