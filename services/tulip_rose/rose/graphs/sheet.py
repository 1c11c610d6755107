"""`Sheet`: host memory that batches are laid out in for one key. Knows no device.

One call of compiled code where there is any: numpy takes a dozen, each dearer than its work.
"""

from ctypes import byref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tulip_rose.rose.batch import Batch
from tulip_rose.rose.graphs.key import Key
from tulip_rose.rose.graphs.padding import Fields, fill, too_many
from tulip_rose.rose.native import library


class Sheet:
    """Of one key; all of it is written by each batch, but for types that nobody reads."""

    def __init__(self, memory: NDArray[np.uint8], key: Key, *, pooled: bool, typed: bool) -> None:
        """Take the first bytes of `memory`.

        Args:
            memory: at least `given_bytes(key)` bytes, which begin at a multiple of `layout.ALIGNED`.
            key: what is laid out for.
            pooled: whether the step pools the spans of a batch's one part.
            typed: whether it reads types of tokens.
        """
        self.fields: Fields[NDArray[Any]] = Fields.of(memory, key)
        self._key, self._pooled, self._typed = key, pooled, typed
        narrow, wide = self.fields.cu_seqlens.ctypes.data, self.fields.token_ids.ctypes.data
        self._place = byref(library.Sheet(narrow, wide, key.tokens, key.slots))

    def write(self, batch: Batch) -> None:
        """Lay out a batch.

        Raises:
            ValueError: it does not fit.
        """
        compiled = library.layout()
        # Heads tell no spans of texts that want several rows.
        if compiled is None or (self._pooled and not batch.alike):
            fill(self.fields, batch, batch.parts[0] if self._pooled else None, typed=self._typed)
            return
        texts = batch.texts
        given = texts.heads, batch.count, texts.ids, texts.types, texts.survey.plan
        if compiled.rose_lay(*given, self._place, self._pooled, self._typed):
            raise too_many(batch, self._key.tokens, self._key.slots)
