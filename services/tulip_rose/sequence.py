"""`Sequence`: one text on its way through Tulip and ROSE. Knows neither torch nor the network."""

from dataclasses import dataclass, field
from enum import Enum
from math import inf

import numpy as np
from numpy.typing import NDArray


class VectorType(Enum):
    """How the values of a vector are stored."""

    FLOAT32 = "float32"
    INT8 = "int8"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class OutputForm:
    """What a caller wants of each row: cut to `dimensions`, then normalised, then stored as `vector_type`."""

    dimensions: int
    normalize: bool = True
    vector_type: VectorType = VectorType.FLOAT32


@dataclass(frozen=True, slots=True)
class Embedded:
    """The rows of one sequence, and what they took."""

    rows: bytes
    """One row a span, packed (see `trellis_wire.v1.packing`); zeros where a row failed."""
    failed_rows: tuple[int, ...]
    """Rows with a value that is not finite."""
    queue_s: float
    """Seconds from arrival to launch."""
    forward_s: float
    """Seconds from launch to result, of the batch that it was in."""


@dataclass(slots=True, eq=False)
class Sequence:
    """One text: token ids in, rows out. Times are `time.monotonic()` seconds."""

    token_ids: NDArray[np.int32]
    spans: tuple[tuple[int, int], ...]
    """`[begin, end)` in tokens of this sequence; one row each."""
    form: OutputForm
    arrival: float
    deadline: float
    outcome: "Embedded | Exception | None" = field(default=None)
    """Set once, by whoever settles the sequence."""

    @classmethod
    def whole(
        cls, token_ids: NDArray[np.int32], form: OutputForm, *, arrival: float = 0.0, deadline: float = inf
    ) -> "Sequence":
        """A sequence that becomes one row, pooled over all of its tokens."""
        return cls(token_ids, ((0, int(token_ids.size)),), form, arrival, deadline)

    @property
    def tokens(self) -> int:
        """Number of tokens: the sequence's weight."""
        return int(self.token_ids.size)
