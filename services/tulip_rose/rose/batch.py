"""`Batch`: sequences packed one after the other, nothing padded between them. Knows no torch.

Inside a batch the order is free, so sequences lie sorted by length: those of one length are neighbours, and attention
and pooling see each such group as a dense view, without a gather. `places` remembers who is where.

Packing is done for every step while the device may be waiting, so sequences are met in few passes. Its result is
numpy's: a tensor of each array, and the way back, would cost as much as packing one text. Who computes with tensors
makes them (see `inputs`).
"""

from collections.abc import Sequence as Sequences
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tulip_rose.rose.lazy import Order, Place, Places, Single, slots_of
from tulip_rose.sequence import OutputForm, Sequence, Span

Lengths = Sequences[int] | NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """All rows of one output form."""

    form: OutputForm
    bounds: NDArray[np.int32]
    """[R, 2]: begin and end of each span, in order of slot."""


@dataclass(slots=True, eq=False)
class Batch:
    """What one step computes. T tokens, S sequences; a slot is a sequence's place among those sorted by length."""

    token_ids: NDArray[np.int64]
    """[T]."""
    positions: NDArray[np.int64]
    """[T]: 0, 1, 2, … within each sequence."""
    token_types: NDArray[np.int64] | None
    """[T]; None: all are 0."""
    starts: NDArray[np.int32]
    """[S + 1]: the first token of each sequence, and the end of the last."""
    tokens: int
    longest: int
    """Tokens of the longest sequence."""
    partly: NDArray[np.int32] | None
    """[S]: how many tokens of each are seen, where some have tokens at their end that none sees."""
    parts: tuple[Asked, ...]
    """The rows to make, those of one form together."""
    places: Places
    """Where each sequence, in the caller's order, finds the rows of each of its wants."""

    @classmethod
    def pack(cls, sequences: Sequences[Sequence]) -> "Batch":
        """Pack at least one sequence.

        Raises:
            ValueError: there is no sequence.
        """
        if not sequences:
            raise ValueError("a batch has at least one sequence")
        arrays: Sequences[NDArray[np.int32]] = [sequence.token_ids for sequence in sequences]
        unseen = [sequence.unseen for sequence in sequences]
        order, lengths = _order(arrays, unseen)
        if order is not None:
            arrays = itemgetter(*order.tolist())(arrays)
        starts = _starts(lengths)
        begins, tokens = starts[:-1], int(starts[-1])
        parts, places = _parts(sequences, begins, order)
        return cls(
            _joined(arrays),
            _positions(tokens, begins, lengths),
            _types(sequences, order),
            starts,
            tokens,
            int(lengths[-1]),
            _seen(lengths, unseen, order) if any(unseen) else None,
            parts,
            places,
        )


def _starts(lengths: Lengths) -> NDArray[np.int32]:
    """[S + 1]: where sequences of these lengths begin that follow one another, and where the last one ends."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.add.accumulate(lengths, dtype=np.int32, out=starts[1:])
    return starts


def _order(arrays: Sequences[NDArray[np.int32]], unseen: list[int]) -> tuple[Order, Lengths]:
    """Which sequence lies in each slot, and how many tokens lie there."""
    if len(arrays) == 1:
        return None, (len(arrays[0]),)
    lengths = np.fromiter(map(len, arrays), np.int64, len(arrays))
    order = np.lexsort((np.asarray(unseen), lengths)) if any(unseen) else lengths.argsort(kind="stable")
    return order, lengths[order]


def _seen(lengths: Lengths, unseen: list[int], order: Order) -> NDArray[np.int32]:
    """How many tokens are seen in each slot."""
    own = np.asarray(unseen, np.int32)
    seen: NDArray[np.int32] = np.asarray(lengths, np.int32) - (own if order is None else own[order])
    return seen


def _joined(arrays: Sequences[NDArray[Any]]) -> NDArray[np.int64]:
    whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    return whole.astype(np.int64)


def _positions(tokens: int, begins: NDArray[np.int32], lengths: Lengths) -> NDArray[np.int64]:
    positions = np.arange(tokens)
    if len(lengths) > 1:
        # Of one type, so that nothing is cast on the way.
        positions -= begins.astype(np.int64).repeat(lengths)
    return positions


def _types(sequences: Sequences[Sequence], order: Order) -> NDArray[np.int64] | None:
    if all([each.token_types is None for each in sequences]):  # noqa: C419 (a list is met in half the time)
        return None
    slots = _in_order(sequences, order)
    return _joined(
        [np.zeros(each.tokens, np.uint8) if each.token_types is None else each.token_types for each in slots]
    )


def _in_order(sequences: Sequences[Sequence], order: Order) -> Sequences[Sequence]:
    """The sequence in each slot."""
    return sequences if order is None else [sequences[index] for index in order.tolist()]


def _parts(sequences: Sequences[Sequence], begins: NDArray[np.int32], order: Order) -> tuple[tuple[Asked, ...], Places]:
    """The rows of each form, and where each sequence finds its own."""
    forms = [each.form for each in sequences]
    form = forms[0]
    # Equal ones are mostly one and the same.
    if form is None or forms.count(form) < len(forms):
        return _several(_in_order(sequences, order), begins.tolist(), order)
    packed = np.fromiter([each.span for each in sequences], np.int64, len(forms))
    bounds = (packed if order is None else packed[order]).view(np.int32).reshape(-1, 2)
    bounds += begins[:, None]
    return (Asked(form, bounds),), Single(order)


def _several(slots: Sequences[Sequence], begins: list[int], order: Order) -> tuple[tuple[Asked, ...], Places]:
    spans: dict[OutputForm, list[Span]] = {}
    places = []
    for sequence, start in zip(slots, begins, strict=True):
        own = []
        for want in sequence.wants:
            found = spans.setdefault(want.form, [])
            own.append((want.form, len(found), len(want.spans)))
            found += [(start + begin, start + end) for begin, end in want.spans]
        places.append(own)
    index = {form: number for number, form in enumerate(spans)}
    by_slot = [tuple(Place(index[form], first, count) for form, first, count in own) for own in places]
    parts = tuple(Asked(form, _bounds(found)) for form, found in spans.items())
    return parts, tuple(by_slot[slot] for slot in slots_of(order))


def _bounds(spans: list[Span]) -> NDArray[np.int32]:
    """[R, 2]."""
    return np.fromiter(chain.from_iterable(spans), np.int32, 2 * len(spans)).reshape(-1, 2)
