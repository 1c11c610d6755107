"""`PairTemplate`: the special tokens around and between the two texts of a pair, and how a pair is cut. Pure.

A pair that is too long is cut as the reference does it with "longest first": the longer side gives tokens until both
are equally long, then both do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import tokenizers

from ivy.errors import ConfigError
from ivy.tokenize.truncation import Truncation


@dataclass(frozen=True, slots=True)
class Pair:
    """One pair, as a model reads it."""

    ids: Sequence[int]
    types: bytes = b""
    """One byte a token: which side it belongs to. Empty: all are 0."""


@dataclass(frozen=True, slots=True)
class PairTemplate:
    """Special tokens, each part with the type of each of its tokens."""

    leading: tuple[int, ...]
    between: tuple[int, ...]
    trailing: tuple[int, ...]
    types: tuple[bytes, bytes, bytes]
    """Of the tokens of the three parts."""
    sides: tuple[int, int]
    """The type of each token of a side."""

    @property
    def size(self) -> int:
        """How many special tokens there are."""
        return len(self.leading) + len(self.between) + len(self.trailing)

    def around(self, first: Sequence[int], second: Sequence[int], *, with_types: bool) -> Pair:
        """The ids of a pair, with the special tokens."""
        ids = [*self.leading, *first, *self.between, *second, *self.trailing]
        if not with_types:
            return Pair(ids)
        leading, between, trailing = self.types
        sides = bytes([self.sides[0]]) * len(first), bytes([self.sides[1]]) * len(second)
        return Pair(ids, b"".join((leading, sides[0], between, sides[1], trailing)))


def longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """How many tokens of each side stay when both together have room for `room`."""
    if first + second <= room:
        return first, second
    shorter, longer = min(first, second), max(first, second)
    if 2 * shorter > room:
        shorter, longer = room // 2, room - room // 2
    else:
        longer = room - shorter
    return (shorter, longer) if first <= second else (longer, shorter)


def cut_pair(
    first: Sequence[int], second: Sequence[int], room: int, truncation: Truncation
) -> tuple[Sequence[int], Sequence[int]]:
    """Cut the ids of both sides to `room` tokens together, at their ends or at their starts."""
    kept = longest_first(len(first), len(second), room)
    if truncation is Truncation.START:
        return first[len(first) - kept[0] :], second[len(second) - kept[1] :]
    return first[: kept[0]], second[: kept[1]]


def pair_template_of(inner: tokenizers.Tokenizer) -> PairTemplate:
    """Read the special tokens off an encoded pair: the ids that belong to no side.

    Raises:
        ConfigError: special tokens stand inside a side, or the second side comes first.
    """
    encoding = inner.encode("a", "a")
    sides = encoding.sequence_ids
    of_first = [place for place, side in enumerate(sides) if side == 0]
    of_second = [place for place, side in enumerate(sides) if side == 1]
    if not of_first or not of_second or not _are_runs(of_first, of_second):
        raise ConfigError(
            "--model: the tokenizer does not put the texts of a pair one after the other, as is supported"
        )
    parts = slice(of_first[0]), slice(of_first[-1] + 1, of_second[0]), slice(of_second[-1] + 1, None)
    leading, between, trailing = (tuple(encoding.ids[part]) for part in parts)
    types = tuple(bytes(encoding.type_ids[part]) for part in parts)
    side_types = (encoding.type_ids[of_first[0]], encoding.type_ids[of_second[0]])
    return PairTemplate(leading, between, trailing, (types[0], types[1], types[2]), side_types)


def _are_runs(first: list[int], second: list[int]) -> bool:
    is_run = all(places == list(range(places[0], places[-1] + 1)) for places in (first, second))
    return is_run and first[-1] < second[0]
