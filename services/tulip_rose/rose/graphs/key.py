"""`Key`: what a graph is made for. `Buckets`: which keys there are. Knows no torch and no device.

Slots make the number of graphs tens, where one graph for each number of sequences would make it thousands.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise

from tulip_rose.sequence import OutputForm

LEAST_TOP = 2
"""Slots that the largest step has at least: a text whose tokens are no multiple needs one more for its pads."""
NO_SLOT_FOR_PADS = "one of 2 or more is needed, since the pads of a batch own a slot; 2 alone would do"
_FINE = 16
"""Up to so many multiples, steps of one multiple; beyond, of `_COARSE`: what padding adds stays a small share."""
_COARSE = 4


@dataclass(frozen=True, slots=True)
class Key:
    """Shapes of a step, and what it ends with."""

    tokens: int
    """Rows of tokens, pads included."""
    slots: int
    """Sequences, the one that owns the pads and empty ones included."""
    form: OutputForm | None = None
    """Of the rows that come out; None: the states of the tokens do, and heads run behind the graph."""
    _hash: int = field(init=False, repr=False, compare=False)
    """Kept, since each step asks for it several times."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.tokens, self.slots, self.form)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def size(self) -> str:
        """For people, as TOKENSxSLOTS."""
        return f"{self.tokens}x{self.slots}"


@dataclass(frozen=True, slots=True)
class Buckets:
    """Multiples that tokens are padded to, and slots that sequences are."""

    multiple: int = 64
    slots: tuple[int, ...] = (2, 8, 32, 128, 512)
    """Ascending."""
    most_tokens: int = 16384
    """Of one step, before padding."""

    def __post_init__(self) -> None:
        """Check them.

        Raises:
            ValueError: a number below 1, slots that do not ascend, or none that a text and its pads fit in.
        """
        if self.multiple < 1 or self.most_tokens < 1 or not self.slots or self.slots[0] < 1:
            raise ValueError(f"{self}: whole numbers above 0 were expected")
        if any(low >= high for low, high in pairwise(self.slots)):
            raise ValueError(f"slots {self.slots} do not ascend")
        if self.slots[-1] < LEAST_TOP:
            raise ValueError(f"slots {self.slots}: {NO_SLOT_FOR_PADS}")

    @property
    def most_rows(self) -> int:
        """Rows of the largest step."""
        return self.rows(self.most_tokens)

    def rows(self, tokens: int) -> int:
        """Rows of a step of so many tokens, at least one."""
        step = self._step(tokens)
        return -(-tokens // step) * step

    @property
    def sizes(self) -> int:
        """Of steps: how many there can be."""
        fine = -(-min(self.most_tokens, _FINE * self.multiple) // self.multiple)
        coarse = -(-max(0, self.most_tokens - _FINE * self.multiple) // (_COARSE * self.multiple))
        return (fine + coarse) * len(self.slots)

    def most_pads(self, rows: int) -> int:
        """Pads that a step of so many rows can have: with more of them a batch has fewer rows."""
        return self._step(rows) - 1

    def fit(self, tokens: int, sequences: int) -> tuple[int, int] | None:
        """Rows and slots of the smallest step that holds a batch; None: there is none.

        Where there are pads, one more sequence owns them.
        """
        rows = self.rows(tokens)
        index = bisect_left(self.slots, sequences + (rows > tokens))
        return None if index == len(self.slots) or tokens > self.most_tokens else (rows, self.slots[index])

    def _step(self, tokens: int) -> int:
        return self.multiple if tokens <= _FINE * self.multiple else _COARSE * self.multiple
