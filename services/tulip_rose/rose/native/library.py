"""The compiled kernels, as ctypes sees them. Knows no tensor.

Pointers are addresses, lengths count elements; who calls keeps the memory alive. Calls let go of the interpreter's
lock, but for the two that lay a batch out: they take microseconds, and whoever lets go may wait milliseconds for it.
"""

import ctypes
import logging
from ctypes import POINTER, Structure, byref, c_char_p, c_float, c_int, c_long, c_void_p
from functools import cache
from typing import Any

from tulip_rose.rose.native.recipe import TARGET, digest, sources

_WIDE, _BFLOAT16 = 1, 2

log = logging.getLogger(__name__)


class Layer(Structure):
    """A linear layer: packed weight, float32 bias or null, sizes, number of the activation."""

    _fields_ = (("weight", c_void_p), ("bias", c_void_p), ("k", c_long), ("n", c_long), ("activation", c_int))


class Norm(Structure):
    """A layer norm: float32 weight and bias (or null), size, epsilon."""

    _fields_ = (("weight", c_void_p), ("bias", c_void_p), ("size", c_long), ("epsilon", c_float))


class Heads(Structure):
    """Attention: heads of queries, how many of them share one of keys, size, tokens seen to each side, scale.

    And float32 bias by distance, or null, with the distance that it reaches.
    """

    _fields_ = (
        *(("heads", c_long), ("shared", c_long), ("size", c_long), ("left", c_long), ("right", c_long)),
        *(("scale", c_float), ("bias", c_void_p), ("reach", c_long)),
    )


class Tables(Structure):
    """The vectors of words and of positions, and how many of each there are."""

    _fields_ = (("words", c_void_p), ("places", c_void_p), ("vocabulary", c_long), ("longest", c_long))


class Sheet(Structure):
    """Where a batch is laid out: int32 values of slots, int64 values of tokens, how many tokens and slots there are."""

    _fields_ = (("narrow", c_void_p), ("wide", c_void_p), ("tokens", c_long), ("slots", c_long))


class Form(Structure):
    """Vectors: number of the pooling, size of a state, values that are kept, whether they get unit norm."""

    _fields_ = (("pooling", c_int), ("size", c_long), ("kept", c_long), ("unit", c_int))


class Block(Structure):
    """Attention and feed-forward, each followed by the add of its input and a norm."""

    _fields_ = (
        *(("qkv", Layer), ("out", Layer), ("up", Layer), ("down", Layer)),
        *(("attention_norm", Norm), ("output_norm", Norm), ("heads", Heads)),
    )


class Gated(Structure):
    """A gate and what it lets through: packed weight, float32 bias or null, sizes, columns of each half, activation."""

    _fields_ = (
        *(("weight", c_void_p), ("bias", c_void_p), ("k", c_long), ("n", c_long), ("out", c_long)),
        ("activation", c_int),
    )


class Turned(Structure):
    """Heads that are turned: float32 weight of a norm within each, or null, how many, size, epsilon."""

    _fields_ = (("weight", c_void_p), ("heads", c_long), ("size", c_long), ("epsilon", c_float))


_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "rose_cpu": (c_int, ()),
    "rose_team": (c_void_p, (c_int,)),
    "rose_disband": (None, (c_void_p,)),
    "rose_packed_size": (c_long, (c_int, c_long, c_long)),
    "rose_pack": (None, (c_int, c_void_p, c_long, c_long, c_void_p)),
    "rose_linear": (None, (c_void_p, c_int, POINTER(Layer), c_void_p, c_long, c_long, c_void_p, c_void_p)),
    "rose_norm": (None, (c_void_p, c_int, POINTER(Norm), c_void_p, c_void_p, c_long, c_void_p)),
    "rose_rms": (None, (c_void_p, c_int, POINTER(Norm), c_void_p, c_void_p, c_long, c_void_p)),
    "rose_gated": (None, (c_void_p, c_int, POINTER(Gated), c_void_p, c_long, c_long, c_void_p)),
    "rose_turn": (None, (c_void_p, c_int, POINTER(Turned), c_void_p, c_long, c_long, c_void_p, c_void_p)),
    "rose_block": (None, (c_void_p, c_int, POINTER(Block), c_void_p, c_void_p, c_long, c_long, c_void_p)),
    "rose_embed": (c_long, (c_void_p, c_int, POINTER(Norm), POINTER(Tables), c_void_p, c_void_p, c_long, c_void_p)),
    "rose_pool": (None, (c_void_p, c_int, POINTER(Form), c_void_p, c_long, c_void_p, c_long, c_void_p, c_void_p)),
    "rose_attention": (
        None,
        (c_void_p, c_int, POINTER(Heads), *(c_void_p, c_long) * 3, c_void_p, c_long, c_long, c_void_p),
    ),
}
_SHORT: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "rose_survey": (c_int, (c_char_p, c_long, c_char_p, c_long, c_void_p)),
    "rose_lay": (c_int, (c_char_p, c_long, c_char_p, c_char_p, c_void_p, POINTER(Sheet), c_int, c_int)),
}


def _made_of(loaded: ctypes.CDLL) -> str | None:
    told = getattr(loaded, "rose_sources", None)
    if told is None:
        return None
    told.restype = c_char_p
    return str(told().decode())


@cache
def library() -> ctypes.CDLL | None:
    """The kernels; None where they were not built, or from other sources than those beside them."""
    if not TARGET.exists():
        return None
    loaded = ctypes.CDLL(str(TARGET))
    if sources() and _made_of(loaded) != digest():
        log.warning("%s was compiled from other sources and is not used: install the package again", TARGET)
        return None
    _declare(loaded, _SIGNATURES)
    return loaded


@cache
def layout() -> ctypes.PyDLL | None:
    """What surveys batches and lays them out; None where it was not built, and numpy does it."""
    if library() is None:
        log.info("batches are laid out by numpy: %s", missing("float32"))
        return None
    loaded = ctypes.PyDLL(str(TARGET))
    _declare(loaded, _SHORT)
    return loaded


def _declare(loaded: ctypes.CDLL, signatures: dict[str, tuple[Any, tuple[Any, ...]]]) -> None:
    for name, (result, arguments) in signatures.items():
        # On some processors there are no kernels, and nobody calls them (see `missing`).
        if (function := getattr(loaded, name, None)) is not None:
            function.restype, function.argtypes = result, arguments


def missing(dtype: str) -> str | None:
    """Why they cannot run here in float32 or bfloat16; None where they can."""
    kernels = library()
    if kernels is None:
        return "not built, or not from these sources: it takes a C++ compiler at install, and Linux"
    features = int(kernels.rose_cpu())
    if not features & _WIDE:
        return "the processor has no AVX-512"
    if dtype == "bfloat16" and not features & _BFLOAT16:
        return "the processor has no AVX512_BF16"
    return None


def serves(dtype: str) -> bool:
    """Whether they can run here in float32 or bfloat16."""
    return missing(dtype) is None


class Team:
    """Threads that share the parts of one kernel at a time. For one caller at a time."""

    def __init__(self, threads: int) -> None:
        """Start them; `threads` counts the caller.

        Raises:
            RuntimeError: the kernels were not built.
        """
        kernels = library()
        if kernels is None:
            raise RuntimeError("the kernels were not built")
        self.kernels = kernels
        self.address = kernels.rose_team(threads)

    def close(self) -> None:
        """End the threads. No kernel runs on this team any more."""
        address, self.address = self.address, None
        if address is not None:
            self.kernels.rose_disband(address)


__all__ = [
    "Block",
    "Form",
    "Gated",
    "Heads",
    "Layer",
    "Norm",
    "Sheet",
    "Tables",
    "Team",
    "Turned",
    "byref",
    "layout",
    "library",
    "missing",
    "serves",
]
