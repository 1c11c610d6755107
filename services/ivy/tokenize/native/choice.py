"""`Choice`: whether the compiled tokenizer serves a model, and why not. Made once, when a model is loaded."""

import json
import logging
from dataclasses import dataclass
from enum import StrEnum

import tokenizers

from ivy.tokenize.native.characters import BertCharacters, GraphemeCharacters
from ivy.tokenize.native.check import different
from ivy.tokenize.native.encoder import Encoder, unigram_machine, wordpiece_machine
from ivy.tokenize.native.library import Library, library
from ivy.tokenize.native.pipeline import Unsupported, WordPieceSpec, read_pipeline

_log = logging.getLogger(__name__)


class Fallback(StrEnum):
    """Why the library tokenizes."""

    NOT_BUILT = "not_built"
    """There was no compiler when the package was installed, or the sources are others since."""
    UNSUPPORTED = "unsupported"
    """The tokenizer of the model is of another kind."""
    MISMATCH = "mismatch"
    """Some text got other ids than the library gives."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Either an encoder, or why there is none."""

    encoder: Encoder | None
    fallback: Fallback | None = None


def choose(inner: tokenizers.Tokenizer) -> Choice:
    """Build the compiled tokenizer of a model, and see that it gives the ids that the library gives.

    Args:
        inner: the library's; its cutting and padding are switched off.
    """
    inner.no_truncation()
    inner.no_padding()
    compiled = library()
    if compiled is None:
        return _refused(
            Fallback.NOT_BUILT, "not built, or not from these sources: install the package again, with a C++ compiler"
        )
    try:
        encoder = built(compiled, inner)
    except Unsupported as error:
        return _refused(Fallback.UNSUPPORTED, str(error))
    wrong = different(encoder, inner)
    if wrong is not None:
        return _refused(Fallback.MISMATCH, f"text {wrong} of the check got other ids")
    return Choice(encoder)


def built(compiled: Library, inner: tokenizers.Tokenizer) -> Encoder:
    """Build the compiled tokenizer of a model, unchecked.

    Raises:
        Unsupported: the model's tokenizer is of another kind.
    """
    spec = read_pipeline(json.loads(inner.to_str()))
    if isinstance(spec, WordPieceSpec):
        return Encoder(compiled, wordpiece_machine(compiled, spec), BertCharacters(inner).block)
    return Encoder(compiled, unigram_machine(compiled, spec), GraphemeCharacters().block)


def _refused(fallback: Fallback, why: str) -> Choice:
    # That a model is of another kind is no fault of anyone's.
    level = logging.INFO if fallback is Fallback.UNSUPPORTED else logging.WARNING
    _log.log(level, "the library tokenizes, which is slower", extra={"fields": {"reason": fallback.value, "why": why}})
    return Choice(None, fallback)
