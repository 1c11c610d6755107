"""`Sequence`: one text on its way through Tulip and ROSE. Knows neither torch nor the network."""

from dataclasses import dataclass, field
from enum import Enum
from math import inf
from struct import Struct
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

HEAD = Struct("=5i")
"""Of a text: its tokens, how many of them are unseen, whether it tells their types, and where it wants one row, begin
and end of the span of that; else 0."""


class VectorType(Enum):
    """How the values of a vector are stored."""

    # Each is one object. Enum hashes names, by a call of Python, whenever a graph is looked up.
    __hash__ = object.__hash__

    FLOAT32 = "float32"
    INT8 = "int8"
    BINARY = "binary"


class OutputKind(Enum):
    """What the rows of a span are."""

    __hash__ = object.__hash__

    DENSE = "dense"
    """One vector; of a model that scores, one value a label."""
    SPARSE = "sparse"
    """Weights of terms."""
    TOKENS = "tokens"
    """The vector of a token alone: each span is one token."""


class OutputForm(NamedTuple):
    """What a caller wants of each row: cut to `dimensions`, then normalised, then stored as `vector_type`.

    A tuple, since those of all texts of a batch are compared before each step.

    A sparse row is float32 and never normalised; its `dimensions` are the terms that it has at most, the heaviest.
    """

    dimensions: int
    normalize: bool = True
    vector_type: VectorType = VectorType.FLOAT32
    kind: OutputKind = OutputKind.DENSE


Span = tuple[int, int]
"""`[begin, end)` in tokens of a sequence."""


@dataclass(frozen=True, slots=True)
class Want:
    """Rows of one form: one a span."""

    spans: tuple[Span, ...]
    form: OutputForm


@dataclass(slots=True, eq=False)
class StepTimes:
    """When one batch was where, in `time.monotonic()` seconds. All of its sequences share it, and it is its name.

    Nothing changes it. Made for each step, as are those of `rose.lazy`: frozen ones take more than three times as long
    to make.
    """

    taken: float
    """Off the queue."""
    packed: float
    """Its sequences were one batch."""
    began: float
    """The device had it and nothing before it."""
    came: float
    """The device was done with it."""
    settled: float
    """Its sequences had it."""

    @property
    def launch_s(self) -> float:
        """Seconds from the queue until the engine got it."""
        return self.packed - self.taken

    @property
    def forward_s(self) -> float:
        """Seconds that the device took for it."""
        return self.came - self.began

    @property
    def settle_s(self) -> float:
        """Seconds from the result, still where the device left it, until its sequences had it."""
        return self.settled - self.came


class Output(NamedTuple):
    """The rows of one want. A tuple: one is made for every text, and costs a third of a dataclass."""

    rows: bytes
    """One row a span, packed (see `trellis_wire.v1.packing`); zeros where a row failed."""
    failed_rows: tuple[int, ...]
    """Rows with a value that is not finite."""


class Rows(Protocol):
    """The rows of a batch."""

    def outputs_of(self, sequence: int) -> tuple[Output, ...]:
        """Of one of its sequences, one a want."""


@dataclass(slots=True, eq=False)
class Embedded:
    """What the sequences of one batch became: all share it, since one for each would cost the engine's thread more."""

    rows: Rows
    step: StepTimes


@dataclass(slots=True, eq=False)
class Sequence:
    """One text: token ids in, rows out. Times are `time.monotonic()` seconds.

    What it wants and is made of is not changed once it is there: `ids` and `head` would not follow.
    """

    token_ids: NDArray[np.int32]
    wants: tuple[Want, ...]
    """At least one; all are made of one pass."""
    arrival: float
    deadline: float
    token_types: NDArray[np.uint8] | None = None
    """Of each token; None: all are 0."""
    unseen: int = 0
    """Tokens at the end that see the others and are seen by none, not even by themselves; fewer than there are."""
    priority: int = 0
    """How much later than its arrival it counts to have come, in levels (see `tulip.lines`); 0 is the first."""
    trace: object | None = None
    """Of its call, where that is traced: for whoever put it there."""
    outcome: Embedded | Exception | None = None
    """Set once, by whoever settles the sequence."""
    place: int = 0
    """In the batch that it was embedded with."""
    tokens: int = field(init=False)
    """Number of tokens: the sequence's weight."""
    form: OutputForm | None = field(init=False)
    """Where it wants one row, as nearly all do: the form of that; else None. A batch looks at a want a second time
    only where this is not told: what is not looked at need not be in a cache."""
    ids: bytes = field(init=False)
    """The token ids again: bytes of many texts are joined in a tenth of the time that arrays take."""
    head: bytes = field(init=False)
    """What a batch has to know of it besides, packed as `HEAD`."""

    def __post_init__(self) -> None:
        """Make what a batch reads, so that the engine's thread need not.

        Raises:
            ValueError: the ids are not int32, or there are none.
        """
        if self.token_ids.dtype != np.int32 or not self.token_ids.size:
            raise ValueError(f"token_ids are {self.token_ids.size} {self.token_ids.dtype}: int32 were expected")
        want, begin, end = self.wants[0], 0, 0
        self.form = None
        if len(self.wants) == len(want.spans) == 1:
            [(begin, end)] = want.spans
            self.form = want.form
        self.ids = self.token_ids.tobytes()
        self.tokens = self.token_ids.size
        self.head = HEAD.pack(self.tokens, self.unseen, self.token_types is not None, begin, end)

    @classmethod
    def whole(
        cls, token_ids: NDArray[np.int32], form: OutputForm, *, arrival: float = 0.0, deadline: float = inf
    ) -> "Sequence":
        """A sequence that becomes one row, pooled over all of its tokens."""
        return cls(token_ids, (Want(((0, int(token_ids.size)),), form),), arrival, deadline)

    @property
    def outputs(self) -> tuple[Output, ...]:
        """One a want, of a sequence that is embedded.

        They are cut out of the batch at each call: who answers asks once, the engine's thread never.
        """
        return cast(Embedded, self.outcome).rows.outputs_of(self.place)

    @property
    def queue_s(self) -> float:
        """Seconds from arrival until it was taken off the queue, of a sequence that is embedded."""
        return cast(Embedded, self.outcome).step.taken - self.arrival
