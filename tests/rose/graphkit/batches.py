"""Batches of texts."""

from collections.abc import Sequence as Sequences
from math import inf
from typing import Any

import numpy as np
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.inputs import Ragged
from tulip_rose.sequence import OutputForm, Sequence, Want

FORM = OutputForm(32, normalize=False)


def batch_of(ids: list[Any], form: OutputForm = FORM) -> Batch:
    return Batch.pack([Sequence.whole(own, form) for own in ids])


def ragged_of(lengths: Sequences[int], seen: Sequences[int] = ()) -> Ragged:
    """Sequences of these lengths, ascending; of each the first `seen` tokens are seen, where not all of all are."""
    unseen = [length - count for length, count in zip(lengths, seen or lengths, strict=True)]
    wants = (Want(((0, 1),), FORM),)
    texts = zip(lengths, unseen, strict=True)
    return Ragged.of(
        Batch.pack([Sequence(np.zeros(length, np.int32), wants, 0.0, inf, unseen=own) for length, own in texts])
    )
