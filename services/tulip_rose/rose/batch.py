"""`Batch`: sequences packed one after the other, nothing padded between them. Knows no torch.

Inside a batch the order is free, so sequences lie sorted by length: those of one length are neighbours, and attention
and pooling see each such group as a dense view, without a gather. `places` remembers who is where.

Packing is done for every step while the device may be waiting, so it joins bytes and surveys them. A step over static
buffers lays them out as they are (see `graphs.sheet`); the arrays here are made when somebody asks: whoever computes
without such buffers.
"""

from collections.abc import Callable
from collections.abc import Sequence as Sequences
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tulip_rose.rose.lazy import Order, Place, Places, Single, slots_of
from tulip_rose.rose.survey import columns, survey
from tulip_rose.sequence import OutputForm, Sequence, Span


class Asked:
    """All rows of one output form."""

    def __init__(self, form: OutputForm, rows: int, bounds: Callable[[], NDArray[np.int32]]) -> None:
        """`bounds` makes what is named so."""
        self.form, self.rows, self._bounds = form, rows, bounds

    @cached_property
    def bounds(self) -> NDArray[np.int32]:
        """[R, 2]: begin and end of each span, in order of slot."""
        return self._bounds()


class Batch:
    """What one step computes. T tokens, S sequences; a slot is a sequence's place among those sorted by length."""

    def __init__(self, sequences: Sequences[Sequence]) -> None:
        """See `pack`."""
        self.count = count = len(sequences)
        """S."""
        if count == 1:
            # As a short query comes.
            [one] = sequences
            form, self.heads, self.ids = one.form, one.head, one.ids
        else:
            forms = [each.form for each in sequences]
            # Equal ones are mostly one and the same.
            form = forms[0] if forms.count(forms[0]) == count else None
            self.heads = b"".join([each.head for each in sequences])
            """Of each sequence its head, in the caller's order."""
            self.ids = b"".join([each.ids for each in sequences])
            """int32 [T]: those of each sequence, in the caller's order."""
        self.survey = found = survey(self.heads, count, self.ids)
        self.tokens = found.tokens
        """T."""
        self.types = _types(sequences) if found.typed else None
        """uint8 [T]: of each token its type, in the caller's order; None: all are 0."""
        self._order: Order = None if count == 1 else found.order
        """[S]: which sequence lies in each slot."""
        self.parts: tuple[Asked, ...]
        """The rows to make, those of one form together."""
        self.places: Places
        """Where each sequence, in the caller's order, finds the rows of each of its wants."""
        self.alike = form is not None
        """Whether each sequence wants one row, all of one form, so that heads tell the spans."""
        if form is None:
            self.parts, self.places = _several(sequences, self.starts.tolist(), self._order)
        else:
            self.parts, self.places = (Asked(form, count, self._spans),), Single(self._order)

    @classmethod
    def pack(cls, sequences: Sequences[Sequence]) -> "Batch":
        """Pack at least one sequence.

        Raises:
            ValueError: there is no sequence.
        """
        if not sequences:
            raise ValueError("a batch has at least one sequence")
        return cls(sequences)

    @cached_property
    def starts(self) -> NDArray[np.int32]:
        """[S + 1]: the first token of each sequence, and the end of the last."""
        starts = np.zeros(self.count + 1, dtype=np.int32)
        np.add.accumulate(self._lengths, dtype=np.int32, out=starts[1:])
        return starts

    @cached_property
    def token_ids(self) -> NDArray[np.int64]:
        """[T]."""
        return self._sorted(np.frombuffer(self.ids, np.int32))

    @cached_property
    def token_types(self) -> NDArray[np.int64] | None:
        """[T]; None: all are 0."""
        return None if self.types is None else self._sorted(np.frombuffer(self.types, np.uint8))

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """[T]: 0, 1, 2, … within each sequence."""
        positions = np.arange(self.tokens)
        if self.count > 1:
            # Of one type, so that nothing is cast on the way.
            positions -= self.starts[:-1].astype(np.int64).repeat(self._lengths)
        return positions

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return self.survey.longest

    @cached_property
    def partly(self) -> NDArray[np.int32] | None:
        """[S]: how many tokens of each are seen, where some have tokens at their end that none sees."""
        return self._columns[:, 0] - self._columns[:, 1] if self.survey.partly else None

    @cached_property
    def _columns(self) -> NDArray[np.int32]:
        """[S, 5]: the heads, in order of slot."""
        heads = columns(self.heads)
        return heads if self._order is None else heads[self._order]

    @property
    def _lengths(self) -> NDArray[np.int32]:
        return self._columns[:, 0]

    def _spans(self) -> NDArray[np.int32]:
        """[S, 2]: begin and end of each, where all are alike."""
        return self._columns[:, 3:] + self.starts[:-1, None]

    def _sorted(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Values of tokens, in order of slot."""
        if self._order is not None:
            lengths = columns(self.heads)[:, 0]
            ends = np.add.accumulate(lengths, dtype=np.int64)
            bounds = zip((ends - lengths)[self._order].tolist(), ends[self._order].tolist(), strict=True)
            values = np.concatenate([values[begin:end] for begin, end in bounds])
        return values.astype(np.int64)


def _types(sequences: Sequences[Sequence]) -> bytes:
    return b"".join(
        [bytes(each.tokens) if each.token_types is None else each.token_types.tobytes() for each in sequences]
    )


def _several(sequences: Sequences[Sequence], begins: list[int], order: Order) -> tuple[tuple[Asked, ...], Places]:
    """The rows of each form, and where each sequence finds its own."""
    spans: dict[OutputForm, list[Span]] = {}
    places = []
    slots = sequences if order is None else [sequences[index] for index in order.tolist()]
    for sequence, start in zip(slots, begins, strict=False):
        own = []
        for want in sequence.wants:
            found = spans.setdefault(want.form, [])
            own.append((want.form, len(found), len(want.spans)))
            found += [(start + begin, start + end) for begin, end in want.spans]
        places.append(own)
    index = {form: number for number, form in enumerate(spans)}
    by_slot = [tuple(Place(index[form], first, count) for form, first, count in own) for own in places]
    parts = tuple(Asked(form, len(found), partial(_bounds, found)) for form, found in spans.items())
    return parts, tuple(by_slot[slot] for slot in slots_of(order))


def _bounds(spans: list[Span]) -> NDArray[np.int32]:
    """[R, 2]."""
    return np.fromiter(chain.from_iterable(spans), np.int32, 2 * len(spans)).reshape(-1, 2)
