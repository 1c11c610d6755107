"""The compiled tokenizer, as ctypes sees it. Knows no model.

Lengths count bytes where texts are meant, else elements; who calls keeps the memory alive.
"""

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_long, c_uint32, c_void_p
from functools import cache
from typing import Any

from ivy.tokenize.native.recipe import TARGET, digest, sources

UNSURE, MISSING = -1, -2
"""Answers of `ivy_encode` that are no number of ids."""
HELD_BYTES = 4096
"""A text up to here is read without letting go of the interpreter's lock: to get it back could take longer."""


class Pieces(Structure):
    """Texts one after the other, where each ends, its id and its score."""

    _fields_ = (("bytes", c_char_p), ("ends", c_void_p), ("ids", c_void_p), ("scores", c_void_p), ("count", c_int32))


class Span(Structure):
    """Addresses of the first byte and of the one after the last."""

    _fields_ = (("begin", c_void_p), ("end", c_void_p))


class WordPieceRules(Structure):
    """Prefix of inner pieces, id of unknown words, most code points of a word."""

    _fields_ = (("prefix", Span), ("unknown", c_int32), ("longest", c_int32))


class UnigramRules(Structure):
    """Id and score of unknown code points; whether every white space parts words; whether the last one is dropped."""

    _fields_ = (("unknown", c_int32), ("score", c_double), ("words_only", c_int32), ("no_trailing", c_int32))


_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "ivy_wordpiece": (c_void_p, (POINTER(Pieces), POINTER(Pieces), c_char_p, POINTER(WordPieceRules))),
    "ivy_unigram": (c_void_p, (POINTER(Pieces), POINTER(Pieces), c_char_p, POINTER(UnigramRules), Span)),
    "ivy_forget": (None, (c_void_p,)),
    "ivy_desk": (c_void_p, (c_void_p, c_void_p, c_long)),
    "ivy_forget_desk": (None, (c_void_p,)),
    "ivy_tell": (None, (c_void_p, c_uint32, c_char_p, c_void_p, c_char_p)),
    "ivy_encode": (c_long, (c_void_p, c_char_p, c_long, c_long, c_int)),
    "ivy_ids": (c_void_p, (c_void_p,)),
    "ivy_missing": (c_long, (c_void_p, POINTER(c_void_p))),
}


class Library:
    """The functions, each in two forms: `held` keeps the interpreter's lock, `free` lets go of it."""

    def __init__(self, path: str) -> None:
        self.held: Any = ctypes.PyDLL(path)
        self.free: Any = ctypes.CDLL(path)
        for loaded in (self.held, self.free):
            for name, (result, arguments) in _SIGNATURES.items():
                function = getattr(loaded, name)
                function.restype, function.argtypes = result, arguments


@cache
def library() -> Library | None:
    """The tokenizer; None where it was not built, or from other sources than those beside it."""
    if not TARGET.exists() or (sources() and _made_of(str(TARGET)) != digest()):
        return None
    return Library(str(TARGET))


def _made_of(path: str) -> str | None:
    told = getattr(ctypes.CDLL(path), "ivy_sources", None)
    if told is None:
        return None
    told.restype = c_char_p
    return str(told().decode())
