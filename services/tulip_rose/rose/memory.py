"""Giving memory back to the system after a load, whose copies and conversions the C library would keep for itself."""

import ctypes


def give_back() -> None:
    """Return free memory to the system where the C library can (glibc); elsewhere do nothing."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
