"""`Laid`: texts in arrays, sorted by length, nothing padded between them. Knows no torch.

One call of compiled code where there is any, else numpy.
"""

from ctypes import byref
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tulip_rose.rose.native import library
from tulip_rose.rose.survey import Survey, heads_of


class Laid(NamedTuple):
    """Of T tokens in S texts."""

    starts: NDArray[np.int32]
    """[S + 1]: the first token of each text, and the end of the last."""
    seen: NDArray[np.int32]
    """[S]: how many tokens of each are seen, the first ones."""
    bounds: NDArray[np.int32]
    """[S, 2]: begin and end of the span of each, in tokens of the batch; without meaning where its head tells none."""
    token_ids: NDArray[np.int64]
    """[T]."""
    positions: NDArray[np.int64]
    """[T]: 0, 1, 2, … within each text."""
    token_types: NDArray[np.int64] | None
    """[T]; None: all are 0."""


def lay(heads: bytes, ids: bytes, types: bytes | None, survey: Survey) -> Laid:
    """Lay texts out that were surveyed.

    Args:
        heads: of each text its `Sequence.head`.
        ids: int32, those of each text in the same order.
        types: uint8, one a token in that order; None: all are 0.
        survey: of the same texts.
    """
    compiled = library.layout()
    if compiled is None:
        return _lay(heads, ids, types, survey.order)
    count = survey.count
    narrow = np.empty(4 * count + 1, np.int32)
    wide = np.empty((2 if types is None else 3, survey.tokens), np.int64)
    sheet = library.Sheet(narrow.ctypes.data, wide.ctypes.data, survey.tokens, count)
    if compiled.rose_lay(heads, count, ids, types, survey.plan, byref(sheet), True, types is not None):
        raise AssertionError("texts do not fit a sheet of their own size")
    return Laid(
        narrow[: count + 1],
        narrow[count + 1 : 2 * count + 1],
        narrow[2 * count + 1 :].reshape(count, 2),
        wide[0],
        wide[1],
        None if types is None else wide[2],
    )


def _lay(heads: bytes, ids: bytes, types: bytes | None, order: NDArray[np.int64]) -> Laid:
    """The same by numpy alone."""
    given = heads_of(heads)
    lengths = given["tokens"]
    ends = np.add.accumulate(lengths, dtype=np.int64)
    runs = list(zip((ends - lengths)[order].tolist(), ends[order].tolist(), strict=True))

    def in_order(values: NDArray[Any]) -> NDArray[np.int64]:
        whole = np.concatenate([values[begin:end] for begin, end in runs])
        return whole.astype(np.int64)

    slots = given[order]
    starts = np.zeros(order.shape[0] + 1, dtype=np.int32)
    np.add.accumulate(slots["tokens"], dtype=np.int32, out=starts[1:])
    begins = starts[:-1]
    return Laid(
        starts,
        slots["tokens"] - slots["unseen"],
        np.stack([begins + slots["begin"], begins + slots["end"]], axis=1),
        in_order(np.frombuffer(ids, np.int32)),
        np.arange(starts[-1], dtype=np.int64) - begins.astype(np.int64).repeat(slots["tokens"]),
        None if types is None else in_order(np.frombuffer(types, np.uint8)),
    )
