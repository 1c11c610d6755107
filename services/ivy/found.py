"""`Found` and `Embedded`: the rows of a request. Knows neither engines nor JSON."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from trellis_wire.v1.terms import TermRow

from ivy.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of a request, those that were asked for."""

    vectors: Vectors
    sparse: Sequence[TermRow] = ()
    """Weights of terms, one row an input."""
    token_rows: Sequence[NDArray[np.float32]] = ()
    """For each input one row a token that counts."""


@dataclass(frozen=True, slots=True)
class Embedded(Found):
    """The same, and what they cost."""

    tokens: int = 0
    """Of all sequences."""
