"""From the last states of a model to the rows that were asked for."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from tulip_rose.rose.batch import Batch
from tulip_rose.rose.facts import Pooling
from tulip_rose.rose.output import finish, finite
from tulip_rose.rose.pooling import pool
from tulip_rose.sequence import OutputForm

Output = list[tuple[Tensor, Tensor]]
"""Of each output form, in order of its first slot: rows, and which of them are finite; the others are zeros."""


class Head(Protocol):
    """Pools each span and gives it the form that was asked."""

    def __call__(self, states: Tensor, batch: Batch) -> Output:
        """Rows of states [T, H]."""


class TorchHead:
    """See `Head`."""

    def __init__(self, pooling: Pooling) -> None:
        self._pooling = pooling

    def __call__(self, states: Tensor, batch: Batch) -> Output:
        """See `Head`."""
        rows = pool(states, batch.spans, self._pooling)
        good = finite(rows)
        rows = rows.masked_fill(~good[:, None], 0.0)
        return [(finish(rows[part], form), good[part]) for form, part in _parts(batch)]


def _parts(batch: Batch) -> Iterator[tuple[OutputForm, slice | Tensor]]:
    """Each output form of a batch, and its rows."""
    forms = dict.fromkeys(batch.forms)
    if len(forms) == 1:
        yield batch.forms[0], slice(None)
        return
    wanted = np.repeat(np.asarray([list(forms).index(form) for form in batch.forms]), batch.rows)
    for index, form in enumerate(forms):
        yield form, torch.from_numpy(np.flatnonzero(wanted == index))
