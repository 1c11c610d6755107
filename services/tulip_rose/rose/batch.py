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

import numpy as np
from numpy.typing import NDArray

from tulip_rose.rose.laid import Laid, lay
from tulip_rose.rose.lazy import Order, Place, Places, Single, slots_of
from tulip_rose.rose.survey import survey
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
            self.parts, self.places = (Asked(form, count, self._bounds),), Single(self._order)

    @classmethod
    def pack(cls, sequences: Sequences[Sequence]) -> "Batch":
        """Pack at least one sequence.

        Raises:
            ValueError: there is no sequence.
        """
        if not sequences:
            raise ValueError("a batch has at least one sequence")
        return cls(sequences)

    @property
    def starts(self) -> NDArray[np.int32]:
        """[S + 1]: the first token of each sequence, and the end of the last."""
        return self.laid.starts

    @property
    def token_ids(self) -> NDArray[np.int64]:
        """[T]."""
        return self.laid.token_ids

    @property
    def token_types(self) -> NDArray[np.int64] | None:
        """[T]; None: all are 0."""
        return self.laid.token_types

    @property
    def positions(self) -> NDArray[np.int64]:
        """[T]: 0, 1, 2, … within each sequence."""
        return self.laid.positions

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return self.survey.longest

    @property
    def partly(self) -> NDArray[np.int32] | None:
        """[S]: how many tokens of each are seen, where some have tokens at their end that none sees."""
        return self.laid.seen if self.survey.partly else None

    @cached_property
    def laid(self) -> Laid:
        """The arrays, made when somebody asks."""
        given = self.heads, self.count, self.ids, self.types, self.survey
        return lay(*given, spans=self.alike)

    def _bounds(self) -> NDArray[np.int32]:
        return self.laid.bounds


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
