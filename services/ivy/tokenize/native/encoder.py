"""`Encoder`: ids of a text from the compiled tokenizer. Any number of threads may call it."""

import weakref
from array import array
from collections.abc import Callable, Iterable, Sequence
from ctypes import Array, addressof, byref, c_char, c_int32, c_void_p, create_string_buffer, string_at
from itertools import accumulate

from ivy.tokenize.native import library as door
from ivy.tokenize.native.characters import Block
from ivy.tokenize.native.pipeline import AddedToken, UnigramSpec, Unsupported, WordPieceSpec

MOST_BLOCKS = 16
"""Blocks of code points that are asked for one text, half a millisecond each: nobody shall wait for more of them."""
ROOM = 1024
"""Ids that are copied out at once; of more the address must be asked for."""
UNKNOWN_PENALTY = 10.0
"""How far the score of an unknown code point lies below that of the least likely piece."""


class Encoder:
    """One model's machine, and the desks of the threads that use it."""

    def __init__(self, library: door.Library, machine: int, block: Callable[[int], Block]) -> None:
        """Take over a machine.

        Args:
            library: where it comes from.
            machine: its address.
            block: asks what the code points of a block become.
        """
        self._library = library
        self._machine = machine
        self._block = block
        self._held, self._free = library.held.ivy_encode, library.free.ivy_encode
        self._idle: list[_Desk] = []
        weakref.finalize(self, _forget, library, machine, self._idle)
        self._tell(0)

    def ids(self, text: str, wanted: int | None = None, *, at_start: bool = True) -> Sequence[int] | None:
        """The ids of a text without special ones; None where the rules here do not say what they are.

        Args:
            text: what to tokenize, of any length.
            wanted: how many ids of one end are enough; None: all of them.
            at_start: which end.
        """
        raw = text.encode()
        desk = self._idle.pop() if self._idle else _Desk(self._library, self._machine)
        try:
            count = self._encode(desk.address, raw, -1 if wanted is None else wanted, at_start)
            return None if count == door.UNSURE else desk.ids(count)
        finally:
            self._idle.append(desk)

    def _encode(self, desk: int, raw: bytes, wanted: int, at_start: bool) -> int:
        encode = self._held if len(raw) <= door.HELD_BYTES else self._free
        while True:
            count: int = encode(desk, raw, len(raw), wanted, at_start)
            if count != door.MISSING:
                return count
            numbers = self._missing(desk)
            for number in numbers[:MOST_BLOCKS]:
                self._tell(number)
            if len(numbers) > MOST_BLOCKS:
                return door.UNSURE

    def _missing(self, desk: int) -> list[int]:
        address = c_void_p()
        count = self._library.held.ivy_missing(desk, byref(address))
        return list((c_int32 * count).from_address(address.value or 0))

    def _tell(self, number: int) -> None:
        told = self._block(number)
        sizes = told.sizes.buffer_info()[0]
        self._library.held.ivy_tell(self._machine, number, told.kinds, sizes, told.texts)


def wordpiece_machine(library: door.Library, spec: WordPieceSpec) -> int:
    """Build the machine of a WordPiece model; gives its address.

    Raises:
        Unsupported: there are too many pieces.
    """
    prefix = create_string_buffer(spec.prefix.encode())
    pieces = _Texts(spec.pieces, [0.0] * len(spec.pieces))
    rules = door.WordPieceRules(_span(prefix), spec.unknown, spec.longest_word)
    return _built(library.free.ivy_wordpiece, pieces, spec.added, byref(rules))


def unigram_machine(library: door.Library, spec: UnigramSpec) -> int:
    """Build the machine of a Unigram model; gives its address.

    Raises:
        Unsupported: there are too many pieces.
    """
    charsmap = create_string_buffer(spec.charsmap)
    scores = [score for _, score in spec.pieces]
    pieces = _Texts([(piece, place) for place, (piece, _) in enumerate(spec.pieces)], scores)
    least = min(scores) - UNKNOWN_PENALTY
    rules = door.UnigramRules(spec.unknown, least, spec.words_only, spec.no_trailing)
    return _built(library.free.ivy_unigram, pieces, spec.added, byref(rules), _span(charsmap))


class _Desk:
    """What one thread works with at a time, and room for the ids of all but long texts."""

    __slots__ = ("_library", "_room", "address")

    def __init__(self, library: door.Library, machine: int) -> None:
        self._library = library
        self._room = array("i", bytes(4 * ROOM))
        self.address: int = library.held.ivy_desk(machine, self._room.buffer_info()[0], ROOM)

    def ids(self, count: int) -> "array[int]":
        """The ids of the last text."""
        if count <= ROOM:
            return self._room[:count]
        found = array("i")
        found.frombytes(string_at(self._library.held.ivy_ids(self.address), 4 * count))
        return found


class _Texts:
    """Texts with ids and scores, and the memory that they are in."""

    def __init__(self, texts: Iterable[tuple[str, int]], scores: Sequence[float]) -> None:
        own = [(text.encode(), place) for text, place in texts]
        self._ends = array("i", accumulate(len(text) for text, _ in own))
        self._ids = array("i", [place for _, place in own])
        self._scores = array("d", scores)
        addresses = (each.buffer_info()[0] for each in (self._ends, self._ids, self._scores))
        self.struct = door.Pieces(b"".join(text for text, _ in own), *addresses, len(own))


def _built(build: Callable[..., int | None], pieces: _Texts, added: Sequence[AddedToken], *rules: object) -> int:
    tokens = _Texts([(token.content, token.id) for token in added], [0.0] * len(added))
    strips = bytes(token.strips for token in added)
    machine = build(byref(pieces.struct), byref(tokens.struct), strips, *rules)
    if machine is None:
        raise Unsupported("a vocabulary of this size")
    return machine


def _span(buffer: Array[c_char]) -> door.Span:
    return door.Span(addressof(buffer), addressof(buffer) + len(buffer) - 1)


def _forget(library: door.Library, machine: int, desks: Sequence[_Desk]) -> None:
    for desk in desks:
        library.held.ivy_forget_desk(desk.address)
    library.held.ivy_forget(machine)
