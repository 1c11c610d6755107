"""`Pooling`: how the token states of a span become a row, and the ways in which files and manifests spell it. No torch.

Several poolings joined give their rows one beside the other, in the order told.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from tulip_rose.rose.errors import LoadError


class Pooling(Enum):
    """By the word of a manifest."""

    CLS = "cls"
    MEAN = "mean"
    LAST_TOKEN = "lastToken"  # noqa: S105 - the name of a pooling, not a secret
    MAX = "max"
    WEIGHTED_MEAN = "weightedMean"
    """Later tokens weigh more: each its number in the sequence, from 1 on."""
    MEAN_SQRT_LENGTH = "meanSqrtLength"
    """The sum over the square root of the number of tokens."""


Poolings = tuple[Pooling, ...]

KNOWN = ", ".join(pooling.value for pooling in Pooling)

_WORDS = {
    "cls": Pooling.CLS,
    "max": Pooling.MAX,
    "mean": Pooling.MEAN,
    "mean_sqrt_len_tokens": Pooling.MEAN_SQRT_LENGTH,
    "weightedmean": Pooling.WEIGHTED_MEAN,
    "lasttoken": Pooling.LAST_TOKEN,
}
FLAGS = {
    "pooling_mode_cls_token": Pooling.CLS,
    "pooling_mode_max_tokens": Pooling.MAX,
    "pooling_mode_mean_tokens": Pooling.MEAN,
    "pooling_mode_mean_sqrt_len_tokens": Pooling.MEAN_SQRT_LENGTH,
    "pooling_mode_weightedmean_tokens": Pooling.WEIGHTED_MEAN,
    "pooling_mode_lasttoken": Pooling.LAST_TOKEN,
}
"""In the order in which rows are joined, whatever the order in the file."""


def of_manifest(text: str) -> Poolings:
    """Read the word of a manifest, or several joined with `+`.

    Raises:
        LoadError: one is not known, or stands twice.
    """
    by_word = {pooling.value: pooling for pooling in Pooling}
    return _checked([by_word.get(word) for word in text.split("+")], f"pooling {text!r}")


def to_manifest(poolings: Poolings) -> str:
    """The word that `of_manifest` reads."""
    return "+".join(pooling.value for pooling in poolings)


def of_files(config: Mapping[str, Any], where: str) -> Poolings:
    """Read the config of a Pooling module: one word, a list of words, or a flag each.

    Raises:
        LoadError: none is set, or one is not known.
    """
    words = config.get("pooling_mode")
    if words is not None:
        words = [words] if isinstance(words, str) else words
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise LoadError(f"{where}: pooling_mode {words!r} is neither a word nor a list of words")
        return _checked([_WORDS.get(word.lower()) for word in words], f"{where}: pooling_mode {' + '.join(words)}")
    flags = {key for key, on in config.items() if key.startswith("pooling_mode_") and on is True}
    strange = sorted(flags - set(FLAGS))
    if strange:
        raise LoadError(f"{where}: {strange[0]} is not known; known are {', '.join(FLAGS)}")
    return _checked([pooling for flag, pooling in FLAGS.items() if flag in flags], f"{where}: pooling_mode")


def _checked(found: list[Pooling | None], what: str) -> Poolings:
    known = tuple(pooling for pooling in found if pooling is not None)
    if not known or len(known) != len(found) or len(set(known)) != len(known):
        raise LoadError(f"{what} is not known; known are {KNOWN}, or several different ones joined")
    return known
