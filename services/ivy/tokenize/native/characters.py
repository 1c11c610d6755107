"""What becomes of each code point: asked of the library itself, a block of 256 the first time a text has one of it.

Nothing is written down here of any version of Unicode, so nothing can differ from the version that the library has.
"""

import struct
from array import array
from dataclasses import dataclass
from enum import IntEnum

import tokenizers
from tokenizers import normalizers

from ivy.tokenize.native.pipeline import Unsupported

BLOCK = 256


class Kind(IntEnum):
    """What a code point is to its neighbours; as `characters.h` numbers them."""

    PLAIN = 0
    JOINS = 1
    """It goes on with the character before it."""
    CONTROL = 2
    """It is joined with nothing."""
    PREPENDS = 3
    """What follows is joined with it."""
    MOVES = 4
    """A mark that stays, whose place among others of its kind may change."""
    UNSURE = 5


@dataclass(frozen=True, slots=True)
class Block:
    """Answers for 256 code points."""

    kinds: bytes
    sizes: "array[int]"
    """Bytes of `texts` that replace each of them; -1: it stays."""
    texts: bytes


class BertCharacters:
    """A normalizer and a splitter that look at one code point at a time, but for the order of marks."""

    _HIGH, _LOW = "\u302e", "\u1b44"
    """Marks that take up room, of the highest and a low class: the second goes before the first where order is made."""

    def __init__(self, inner: tokenizers.Tokenizer) -> None:
        """Ask how marks are treated.

        Raises:
            Unsupported: in a way that is not known here.
        """
        self._normalizer, self._splitter = inner.normalizer, inner.pre_tokenizer
        both = self._normalizer.normalize_str(self._HIGH + self._LOW)
        if both not in (self._HIGH + self._LOW, self._LOW + self._HIGH):
            raise Unsupported("normalizer that removes marks which take up room")

    def block(self, number: int) -> Block:
        """What the code points of a block become: words of the splitter, with spaces between them."""
        points = _points(number)
        apart = "☃" if "☃" not in points else "〒"
        normal = self._normalized(points, apart)
        words = self._splitter.pre_tokenize_str(apart + apart.join(normal) + apart)
        texts = " ".join(word for word, _ in words).split(apart)[1:-1]
        if len(normal) != BLOCK or len(texts) != BLOCK:
            return Block(bytes([Kind.UNSURE]) * BLOCK, array("i", [-1]) * BLOCK, b"")
        kinds = bytes(Kind.MOVES if moves else Kind.PLAIN for moves in self._moving(points, normal, apart))
        raw = [b"" if text == point else text.encode() for text, point in zip(texts, points, strict=True)]
        sizes = (-1 if text == point else len(own) for text, point, own in zip(texts, points, raw, strict=True))
        return Block(kinds, array("i", sizes), b"".join(raw))

    def _normalized(self, texts: list[str], apart: str) -> list[str]:
        whole: str = self._normalizer.normalize_str(apart + apart.join(texts) + apart)
        return whole.split(apart)[1:-1]

    def _moving(self, points: list[str], normal: list[str], apart: str) -> list[bool]:
        after = self._normalized([self._HIGH + point for point in points], apart)
        before = self._normalized([point + self._LOW for point in points], apart)
        return [
            one != self._HIGH + own or two != own + self._LOW
            for one, two, own in zip(after, before, normal, strict=True)
        ]


class GraphemeCharacters:
    """How the library joins code points to characters, seen through a charsmap that makes one X of each.

    It does so for characters of fewer than six bytes; of longer ones it makes an X of each code point.
    """

    _MARK = "\u0301"
    _ENDS = ("\n", "\r")

    def __init__(self) -> None:
        self._counter = normalizers.Precompiled(_counting_charsmap())

    def block(self, number: int) -> Block:
        """The kinds of the code points of a block; what replaces them stands in the charsmap of the model."""
        points = _points(number)
        joins = self._counts(["a" + point for point in points])
        prepends = self._counts([point + "a" for point in points])
        parts = self._counts([point + 2 * self._MARK for point in points])
        kinds = (
            Kind.CONTROL
            if point in self._ENDS or part == 2
            else Kind.JOINS
            if join == 1
            else Kind.PREPENDS
            if prepend == 1
            else Kind.PLAIN
            for point, join, prepend, part in zip(points, joins, prepends, parts, strict=True)
        )
        return Block(bytes(kinds), array("i"), b"")

    def _counts(self, texts: list[str]) -> list[int]:
        """How many characters each text has. It must not have line ends."""
        lines = ["" if set(text) & set(self._ENDS) else text for text in texts]
        return [len(line) for line in self._counter.normalize_str("\n".join(lines)).split("\n")]


def _points(number: int) -> list[str]:
    return [chr(point) for point in range(number * BLOCK, (number + 1) * BLOCK)]


def _counting_charsmap() -> bytes:
    """A double array that has an entry for each first byte but the end of a line, and its one text."""
    keys, leaves = 0x100, 0x200
    units = [0] * 0x400
    units[0] = keys << 10
    for byte in range(1, 256):
        if byte != ord("\n"):
            units[keys ^ byte] = leaves << 10 | 1 << 8 | byte
            units[keys ^ byte ^ leaves] = 1 << 31
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + b"X\0"
