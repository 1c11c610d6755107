"""`Batch`: sequences packed one after the other, nothing padded between them. Knows no torch.

Inside a batch the order is free, so sequences lie sorted by length: those of one length are neighbours, and attention
and pooling see each such group as a dense view, without a gather. `places` remembers who is where.

Packing is done for every step while the device may be waiting, so it joins bytes and surveys them. A step over static
buffers lays them out as they are (see `graphs.sheet`); the arrays here are made when somebody asks: whoever computes
without such buffers.
"""

from collections.abc import Sequence as Sequences
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tulip_rose.rose.lazy import Order, Place, Places, Single, slots_of
from tulip_rose.rose.texts import Texts
from tulip_rose.sequence import OutputForm, Sequence, Span


@dataclass(slots=True, eq=False)
class Asked:
    """All rows of one output form."""

    form: OutputForm
    rows: int
    """R."""
    spans: Texts | NDArray[np.int32]
    """Where the spans are told: by texts that want one row each, or here."""

    @property
    def bounds(self) -> NDArray[np.int32]:
        """[R, 2]: begin and end of each span, in order of slot."""
        return self.spans.laid.bounds if isinstance(self.spans, Texts) else self.spans


class Batch:
    """What one step computes. T tokens, S sequences; a slot is a sequence's place among those sorted by length."""

    def __init__(self, sequences: Sequences[Sequence]) -> None:
        """See `pack`."""
        self.count = count = len(sequences)
        """S."""
        self.texts = texts = Texts(sequences)
        """The sequences, in the caller's order."""
        self.tokens = texts.survey.tokens
        """T."""
        self.parts: tuple[Asked, ...]
        """The rows to make, those of one form together."""
        self.places: Places
        """Where each sequence, in the caller's order, finds the rows of each of its wants."""
        forms = [each.form for each in sequences]
        form = forms[0]
        # Equal ones are mostly one and the same.
        self.alike = form is not None and forms.count(form) == count
        """Whether each sequence wants one row, all of one form, so that heads tell the spans."""
        order = None if count == 1 else texts.survey.order
        if form is not None and self.alike:
            self.parts, self.places = (Asked(form, count, texts),), Single(order)
        else:
            self.parts, self.places = _several(sequences, self.starts[:-1].tolist(), order)

    @classmethod
    def pack(cls, sequences: Sequences[Sequence]) -> "Batch":
        """Pack at least one sequence.

        Raises:
            ValueError: there is no sequence, or the types of one are not one a token.
        """
        if not sequences:
            raise ValueError("a batch has at least one sequence")
        return cls(sequences)

    @property
    def starts(self) -> NDArray[np.int32]:
        """[S + 1]: the first token of each sequence, and the end of the last."""
        return self.texts.laid.starts

    @property
    def token_ids(self) -> NDArray[np.int64]:
        """[T]."""
        return self.texts.laid.token_ids

    @property
    def token_types(self) -> NDArray[np.int64] | None:
        """[T]; None: all are 0."""
        return self.texts.laid.token_types

    @property
    def positions(self) -> NDArray[np.int64]:
        """[T]: 0, 1, 2, … within each sequence."""
        return self.texts.laid.positions

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return self.texts.survey.longest

    @property
    def partly(self) -> NDArray[np.int32] | None:
        """[S]: how many tokens of each are seen, where some have tokens at their end that none sees."""
        return self.texts.laid.seen if self.texts.survey.partly else None


def _several(sequences: Sequences[Sequence], begins: list[int], order: Order) -> tuple[tuple[Asked, ...], Places]:
    """The rows of each form, and where each sequence finds its own."""
    spans: dict[OutputForm, list[Span]] = {}
    places = []
    slots = sequences if order is None else [sequences[index] for index in order.tolist()]
    for sequence, start in zip(slots, begins, strict=True):
        own = []
        for want in sequence.wants:
            found = spans.setdefault(want.form, [])
            own.append((want.form, len(found), len(want.spans)))
            found += [(start + begin, start + end) for begin, end in want.spans]
        places.append(own)
    index = {form: number for number, form in enumerate(spans)}
    by_slot = [tuple(Place(index[form], first, count) for form, first, count in own) for own in places]
    parts = tuple(Asked(form, len(found), _bounds(found)) for form, found in spans.items())
    return parts, tuple(by_slot[slot] for slot in slots_of(order))


def _bounds(spans: list[Span]) -> NDArray[np.int32]:
    """[R, 2]."""
    return np.fromiter(chain.from_iterable(spans), np.int32, 2 * len(spans)).reshape(-1, 2)
