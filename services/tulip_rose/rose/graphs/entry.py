"""`Entry`: whether a batch can become a step of a fixed size, and of which key. Knows no device.

An index that is in no table is found here, on the host: on a GPU it would end the process.
"""

from typing import Any

from numpy.typing import NDArray

from tulip_rose.rose.batch import Batch
from tulip_rose.rose.errors import TooLargeError
from tulip_rose.rose.graphs.key import Buckets, Key
from tulip_rose.rose.models.model import Model
from tulip_rose.sequence import OutputKind


class Entry:
    """Of one model."""

    def __init__(self, model: Model, buckets: Buckets) -> None:
        self._model, self._buckets = model, buckets

    def key(self, batch: Batch) -> Key:
        """The smallest key that holds a batch.

        Raises:
            IndexError: a sequence is too long, or a token or a type of one is unknown.
            TooLargeError: there is none.
        """
        self._check(batch)
        fit = self._buckets.fit(batch.ragged.tokens, len(batch.places))
        if fit is None:
            raise too_large(batch, "there is no step of this size")
        rows, slots = fit
        part, *others = batch.parts
        inside = not others and part.form.kind is OutputKind.DENSE and part.bounds.shape[0] <= slots
        return Key(rows, slots, part.form if inside else None)

    def _check(self, batch: Batch) -> None:
        if batch.ragged.longest > self._model.positions:
            raise IndexError(f"{batch.ragged.longest} tokens in a model of {self._model.positions} positions")
        _check_range("token", batch.token_ids.numpy(), self._model.vocabulary_size)
        if batch.token_types is not None and self._model.token_types > 1:
            _check_range("type", batch.token_types.numpy(), self._model.token_types)


def too_large(batch: Batch, why: str) -> TooLargeError:
    """The error of a batch that has no room."""
    return TooLargeError(f"{len(batch.places)} sequences of {batch.ragged.tokens} tokens: {why}")


def _check_range(what: str, values: NDArray[Any], end: int) -> None:
    if values.min() < 0 or values.max() >= end:
        wrong = values[(values < 0) | (values >= end)][0]
        raise IndexError(f"{what} {wrong} is none of the {end} of the model")
