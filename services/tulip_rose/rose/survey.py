"""`Survey`: what has to be known of the texts of a batch before they are laid out. Knows no torch.

One call of compiled code where there is any, else numpy: a batch is surveyed while the device may be waiting.
"""

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tulip_rose.rose.native import library
from tulip_rose.sequence import HEAD

_FACTS, _WIDE = 5, 8
_HEAD = np.dtype([(name, np.int32) for name in ("tokens", "unseen", "typed", "begin", "end")])


@dataclass(slots=True, eq=False)
class Survey:
    """Of S texts, which lie sorted by length; those of one length by how many of their tokens are unseen."""

    count: int
    """S."""
    tokens: int
    longest: int
    """Tokens of the longest text."""
    highest: int
    """Of the token ids, read as unsigned: a negative one is a huge one."""
    partly: bool
    """Whether some text has tokens that none sees."""
    typed: bool
    """Whether some text tells the types of its tokens."""
    plan: Any
    """int64, as `rose_survey` writes it: [5] of the facts above, [S] which text lies in each slot, [S] where the ids of
    each text begin; what is behind that has no meaning."""

    @property
    def order(self) -> NDArray[np.int64]:
        """[S]: which text lies in each slot."""
        return np.frombuffer(self.plan, np.int64, self.count, _FACTS * _WIDE)


def survey(heads: bytes, ids: bytes) -> Survey:
    """Survey texts.

    Args:
        heads: of each text its `Sequence.head`; at least one.
        ids: int32: those of each text, in the same order.

    Raises:
        ValueError: the ids are not as many as the heads say.
    """
    compiled = library.layout()
    if compiled is None:
        return _survey(heads, ids)
    count, given = len(heads) // HEAD.size, len(ids) // 4
    plan = _plan((count - 1).bit_length())()
    if compiled.rose_survey(heads, count, ids, given, plan):
        raise _other(given, count)
    tokens, longest, highest, unseen, typed = plan[:_FACTS]
    return Survey(count, tokens, longest, highest, unseen != 0, typed != 0, plan)


def _survey(heads: bytes, ids: bytes) -> Survey:
    """The same by numpy alone."""
    texts = heads_of(heads)
    lengths, unseen, typed = texts["tokens"], texts["unseen"], texts["typed"]
    count, tokens, longest = lengths.shape[0], int(lengths.sum()), int(lengths.max())
    if tokens != len(ids) // 4:
        raise _other(len(ids) // 4, count)
    highest, partly, types = int(np.frombuffer(ids, np.uint32).max()), bool(unseen.any()), bool(typed.any())
    order = np.lexsort((unseen, lengths))
    first = np.cumsum(lengths, dtype=np.int64) - lengths
    plan = np.concatenate([np.array((tokens, longest, highest, partly, types)), order, first])
    return Survey(count, tokens, longest, highest, partly, types, plan)


def _other(ids: int, texts: int) -> ValueError:
    return ValueError(f"{ids} token ids are not as many as {texts} sequences say")


def heads_of(heads: bytes) -> NDArray[np.void]:
    """[S]: the numbers of `HEAD`, with names."""
    return np.frombuffer(heads, _HEAD)


@cache
def _plan(bits: int) -> type[ctypes.Array[ctypes.c_int64]]:
    """For up to 2 to the power of `bits` texts: to make a type takes longer than a survey, so there are few."""
    return ctypes.c_int64 * (_FACTS + 2 * (1 << bits))
