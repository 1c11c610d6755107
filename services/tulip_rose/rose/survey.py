"""`Survey`: what has to be known of the texts of a batch before they are laid out. Knows no torch.

One call of compiled code where there is any, else numpy: a batch is surveyed while the device may be waiting.
"""

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tulip_rose.rose.native import library

_FACTS = 5
_HEAD = np.dtype([(name, np.int32) for name in ("tokens", "unseen", "typed", "begin", "end")])


@dataclass(slots=True, eq=False)
class Survey:
    """Of S texts, which lie sorted by length; those of one length by how many of their tokens are unseen."""

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
    """int64 [5 + 2 · S], as `rose_survey` writes it: the facts above, which text lies in each slot, and where the ids
    of each text begin."""

    @property
    def order(self) -> NDArray[np.int64]:
        """[S]: which text lies in each slot."""
        plan = np.frombuffer(self.plan, np.int64)
        return plan[_FACTS : _FACTS + (plan.shape[0] - _FACTS) // 2]


def survey(heads: bytes, count: int, ids: bytes) -> Survey:
    """Survey texts.

    Args:
        heads: of each text its `Sequence.head`.
        count: of texts, at least one.
        ids: int32: those of each text, in the same order.

    Raises:
        ValueError: the ids are not as many as the heads say.
    """
    compiled = library.layout()
    if compiled is None:
        return _survey(heads, ids)
    plan = _plan(count)()
    if compiled.rose_survey(heads, count, ids, len(ids) // 4, plan):
        raise ValueError(f"{len(ids) // 4} token ids are not as many as {count} sequences say")
    tokens, longest, highest, unseen, typed = plan[:_FACTS]
    return Survey(tokens, longest, highest, unseen != 0, typed != 0, plan)


def _survey(heads: bytes, ids: bytes) -> Survey:
    """The same by numpy alone."""
    read = heads_of(heads)
    lengths, unseen, typed = read["tokens"], read["unseen"], read["typed"]
    tokens, longest = int(lengths.sum()), int(lengths.max())
    if tokens != len(ids) // 4:
        raise ValueError(f"{len(ids) // 4} token ids are not as many as {lengths.shape[0]} sequences say")
    highest, partly, types = int(np.frombuffer(ids, np.uint32).max()), bool(unseen.any()), bool(typed.any())
    order = np.lexsort((unseen, lengths))
    first = np.cumsum(lengths, dtype=np.int64) - lengths
    plan = np.concatenate([np.array((tokens, longest, highest, partly, types)), order, first])
    return Survey(tokens, longest, highest, partly, types, plan)


def heads_of(heads: bytes) -> NDArray[np.void]:
    """[S], with the names of `HEAD`."""
    return np.frombuffer(heads, _HEAD)


@lru_cache(maxsize=512)
def _plan(count: int) -> type[ctypes.Array[ctypes.c_int64]]:
    return ctypes.c_int64 * (_FACTS + 2 * count)
