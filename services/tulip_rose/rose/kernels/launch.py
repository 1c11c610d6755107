"""How kernels are cut into blocks, and how many warps work on one. Pure: knows neither torch nor triton.

Blocks are powers of two. A thread has two values at least: of a block with fewer values than threads, several threads
would hold the same one, and a kernel that writes where it has read could read what it has written.
"""

from dataclasses import dataclass

_WARP = 32
_MOST_WARPS = 16
_HEAD_VALUES = 1024
_COLUMNS = 1024
_POOL_TOKENS, _POOL_COLUMNS = 32, 64


@dataclass(frozen=True, slots=True)
class Line:
    """A stretch of one row."""

    block: int
    """Values, a power of two."""
    warps: int


@dataclass(frozen=True, slots=True)
class Tile:
    """A rectangle."""

    high: int
    wide: int
    """Both are powers of two."""
    warps: int


def whole_row(size: int) -> Line:
    """All values of a row at once, eight a thread where they suffice: a norm reads them three times."""
    block = _power(size)
    return Line(block, _warps(block, 8))


def part_of_row(size: int) -> Line:
    """A part of a row that is computed value by value; short rows take less."""
    block = min(_power(size), _COLUMNS)
    return Line(block, _warps(block, 8))


def some_heads(heads: int, size: int) -> Tile:
    """Heads of one token by the pairs of a head: few heads, so that a short batch has blocks for the whole GPU."""
    pairs = _power(size // 2)
    high = min(_power(heads), max(1, _HEAD_VALUES // (2 * pairs)))
    return Tile(high, pairs, _warps(high * pairs, 4))


def some_tokens(size: int) -> Tile:
    """Tokens by columns of a span that is pooled. Fixed, so that sums are in one order whatever the batch is."""
    columns = min(_power(size), _POOL_COLUMNS)
    return Tile(_POOL_TOKENS, columns, _warps(_POOL_TOKENS * columns, 16))


def parts(size: int, block: int) -> int:
    """Blocks that cover so many values."""
    return -(-size // block)


def _power(size: int) -> int:
    """The next power of two, 2 at least."""
    return max(2, 1 << (size - 1).bit_length())


def _warps(values: int, each: int) -> int:
    """Warps of threads with so many values each; a power of two."""
    return min(_MOST_WARPS, max(1, values // (each * _WARP)))
