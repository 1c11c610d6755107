"""Whether runs of long texts get the ids that the library gives of the whole: seen once, when a model is loaded."""

import logging

import tokenizers

from ivy.tokenize.cuts import Cuts
from ivy.tokenize.native.check import TEXTS
from ivy.tokenize.window import LEAST_CHARACTERS, whole_ids

_log = logging.getLogger(__name__)
_WANTED = 40
"""Ids that are asked for; texts are long enough that a few of their runs hold more."""


def reads_alike(cuts: Cuts, inner: tokenizers.Tokenizer) -> bool:
    """Compare both on a long text of each text of the check; where they differ, say so in the log."""
    for place, text in enumerate(TEXTS):
        if not _is_alike(cuts, inner, f"{text} " * (4 * LEAST_CHARACTERS // (len(text) + 1) + 1)):
            why = f"a long text of text {place} of the check got other ids"
            _log.warning("long texts are read whole, which is slower", extra={"fields": {"why": why}})
            return False
    return True


def _is_alike(cuts: Cuts, inner: tokenizers.Tokenizer, text: str) -> bool:
    """To the last id of a run: those that a cut may change are the ones beside it."""
    whole = list(whole_ids(inner, text))
    first, last = list(cuts.ids(text, _WANTED, at_start=True)), list(cuts.ids(text, _WANTED, at_start=False))
    return first == whole[: len(first)] and last == whole[len(whole) - len(last) :]
