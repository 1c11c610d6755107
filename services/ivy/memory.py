"""Giving memory back to the system after the start, whose tables and documents the C library would keep for itself."""

import ctypes
import gc


def give_back() -> None:
    """Return what is free to the system where the C library can (glibc); what lives is not looked through again."""
    gc.collect()
    gc.freeze()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
