"""Weights of terms and vectors of tokens to the JSON of several APIs, in pieces between which a caller may pause."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from trellis_wire.v1.terms import TermRow

from ivy.api.render import VALUES_AT_ONCE, dumps, native

_Row = TypeVar("_Row")


def indices_and_values(rows: Sequence[TermRow]) -> Iterator[bytes]:
    """Of each row an object of its terms and their weights."""
    return _listed(rows, _terms, lambda row: {"indices": native(row.terms), "values": native(row.weights)})


def index_value_pairs(rows: Sequence[TermRow]) -> Iterator[bytes]:
    """Of each row a list of objects, each a term and its weight."""
    return _listed(rows, _terms, _pairs)


def token_vectors(rows: Sequence[NDArray[np.float32]]) -> Iterator[bytes]:
    """Of each input a list of vectors."""
    return _listed(rows, lambda own: own.size, native)


def _terms(row: TermRow) -> int:
    return row.terms.size


def _pairs(row: TermRow) -> list[dict[str, Any]]:
    pairs = zip(row.terms.tolist(), native(row.weights), strict=True)
    return [{"index": term, "value": weight} for term, weight in pairs]


def _listed(rows: Sequence[_Row], size: Callable[[_Row], int], shaped: Callable[[_Row], Any]) -> Iterator[bytes]:
    """A list of rows, of which as many are written at once as have few enough values, or one."""
    first, values = 0, 0
    for place, row in enumerate(rows):
        if place > first and values + size(row) > VALUES_AT_ONCE:
            yield _run(rows, first, place, shaped)
            first, values = place, 0
        values += size(row)
    yield _run(rows, first, len(rows), shaped) + b"]"


def _run(rows: Sequence[_Row], first: int, end: int, shaped: Callable[[_Row], Any]) -> bytes:
    return (b"," if first else b"[") + dumps([shaped(row) for row in rows[first:end]])[1:-1]
