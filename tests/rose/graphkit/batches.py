"""Batches of texts."""

from collections.abc import Sequence as Sequences
from typing import Any

import numpy as np
import torch
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.inputs import Ragged
from tulip_rose.sequence import OutputForm, Sequence

FORM = OutputForm(32, normalize=False)


def batch_of(ids: list[Any], form: OutputForm = FORM) -> Batch:
    return Batch.pack([Sequence.whole(own, form) for own in ids])


def ragged_of(lengths: Sequences[int], seen: Sequences[int] = ()) -> Ragged:
    """Sequences of these lengths, ascending; of each the first `seen` tokens are seen, where not all of all are."""
    starts = np.cumsum([0, *lengths], dtype=np.int32)
    partly = np.asarray(seen, dtype=np.int32) if len(seen) else None
    return Ragged(torch.from_numpy(starts), int(starts[-1]), lengths[-1], partly)
