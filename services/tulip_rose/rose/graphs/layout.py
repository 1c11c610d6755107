"""How many bytes of a buffer belong to a key. Pure: knows neither torch nor what lies in them."""

from tulip_rose.rose.graphs.key import Key

WIDE, NARROW = 3, 4
"""int64 values a token, and int32 values a slot; of the latter there is one more."""
ALIGNED = 16
"""Bytes that each run of values begins at a multiple of."""
_WIDE_BYTES, _NARROW_BYTES, _VALUE_BYTES = 8, 4, 4


def aligned(size: int) -> int:
    """The next multiple of what runs of values begin at."""
    return -(-size // ALIGNED) * ALIGNED


def narrow_bytes(key: Key) -> int:
    """Of the int32 values, which come first."""
    return aligned((NARROW * key.slots + 1) * _NARROW_BYTES)


def given_bytes(key: Key, *, typed: bool = True) -> int:
    """Of all that a step reads; with the types of tokens, which come last, or without."""
    return narrow_bytes(key) + (WIDE if typed else WIDE - 1) * key.tokens * _WIDE_BYTES


def out_bytes(slots: int, dimensions: int) -> int:
    """Of the widest rows of so many slots, which are float32, and of which of them are finite, which comes first."""
    return aligned(slots) + slots * dimensions * _VALUE_BYTES


def grown(size: int) -> int:
    """Of memory for results of at least one byte, whose lengths nobody knows before: the next power of two."""
    return 1 << (size - 1).bit_length()
