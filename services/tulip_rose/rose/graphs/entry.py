"""`Entry`: whether a batch can become a step of a fixed size, and of which key. Knows no device.

An index that is in no table is found here, on the host: on a GPU it would end the process.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tulip_rose.rose.batch import Batch
from tulip_rose.rose.errors import TooLargeError
from tulip_rose.rose.graphs.key import Buckets, Key
from tulip_rose.rose.models.model import Model
from tulip_rose.sequence import OutputForm, OutputKind

_REMEMBERED = 4096
"""Keys: forms that callers make up are many."""


class Entry:
    """Of one model."""

    def __init__(self, model: Model, buckets: Buckets, *, inside: bool) -> None:
        """`inside`: whether a step can make dense rows, and not states alone."""
        self._model, self._buckets, self._inside = model, buckets, inside
        self._keys: dict[tuple[int, int, OutputForm | None], Key] = {}

    def key(self, batch: Batch) -> Key:
        """The smallest key that holds a batch.

        Raises:
            IndexError: a sequence is too long, or a token or a type of one is unknown.
            TooLargeError: there is none.
        """
        self._check(batch)
        fit = self._buckets.fit(batch.tokens, batch.count)
        if fit is None:
            raise too_large(batch, "there is no step of this size")
        rows, slots = fit
        return self._known(rows, slots, self._form(batch, slots))

    def _form(self, batch: Batch, slots: int) -> OutputForm | None:
        """That of the rows, where they are made within the step."""
        part = batch.parts[0]
        inside = self._inside and len(batch.parts) == 1 and part.form.kind is OutputKind.DENSE
        return part.form if inside and part.rows <= slots else None

    def _known(self, rows: int, slots: int, form: OutputForm | None) -> Key:
        """The key as it was made the first time: a dictionary finds the same object faster than an equal one."""
        sizes = rows, slots, form
        key = self._keys.get(sizes)
        if key is None:
            if len(self._keys) == _REMEMBERED:
                self._keys.clear()
            key = self._keys[sizes] = Key(rows, slots, form)
        return key

    def _check(self, batch: Batch) -> None:
        model, texts, found = self._model, batch.texts, batch.texts.survey
        if found.longest > model.positions:
            raise IndexError(f"{found.longest} tokens in a model of {model.positions} positions")
        if found.highest >= model.vocabulary_size:
            raise _outside("token", np.frombuffer(texts.ids, np.int32), model.vocabulary_size)
        if texts.types is not None and model.token_types > 1:
            types = np.frombuffer(texts.types, np.uint8)
            if types.max() >= model.token_types:
                raise _outside("type", types, model.token_types)


def too_large(batch: Batch, why: str) -> TooLargeError:
    """The error of a batch that has no room."""
    return TooLargeError(f"{batch.count} sequences of {batch.tokens} tokens: {why}")


def _outside(what: str, values: NDArray[Any], end: int) -> IndexError:
    wrong = values[(values < 0) | (values >= end)][0]
    return IndexError(f"{what} {wrong} is none of the {end} of the model")
