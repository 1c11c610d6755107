"""Batches of texts."""

from typing import Any

from tulip_rose.rose.batch import Batch
from tulip_rose.sequence import OutputForm, Sequence

FORM = OutputForm(32, normalize=False)


def batch_of(ids: list[Any], form: OutputForm = FORM) -> Batch:
    return Batch.pack([Sequence.whole(own, form) for own in ids])
