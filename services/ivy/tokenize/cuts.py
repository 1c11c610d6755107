"""`Cuts`: ids of a long text of a BPE tokenizer, from runs of it. Exactly those that the whole text would give.

A cut is clean where a letter stands before it and something else behind it: white space, punctuation, a digit. There

- every known splitter of words ends a word: their words that have letters end with a run of them, whatever stood
  before, and none looks behind itself. Words begin anew, and merges stay within a word;
- where words are not split (SentencePiece's BPE, which has `▁` for a space) no merge joins the two sides, as long as no
  piece of the vocabulary has both characters beside each other. Merges are of neighbours, the best first, so that two
  sides that never join do not see each other;
- NFC changes nothing across: what stands behind is below U+0300 or is punctuation, which joins no character before it;
- no added token lies across, as long as none has both characters beside each other.

Only characters are named here whose kind every version of Unicode has had for ever.
"""

import json
import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import tokenizers

from ivy.tokenize import window
from ivy.tokenize.window import GROWTH, whole_ids

_LETTERS = "A-Za-zΑ-Ρα-ωА-яא-תء-غऄ-हก-ฮぁ-ゖァ-ヺ一-龥가-힣"
_BEHIND = r"\x00-@\[-`{-\x7f、。「」『』！，：；？"
_SPACE = " "
_MARK = "▁"
_NEAR = 2048
"""Characters that are searched for a clean cut before all are."""

_GPT2 = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
_BYTES = {**_GPT2, "use_regex": False}
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_SPLITTERS = frozenset(_WORDS % digits for digits in ("", "{1,3}", "{1,2}"))
"""Those of Qwen and of Llama 3."""


class Cuts:
    """Tokenizes runs of a text between clean cuts. Made for one tokenizer, without state."""

    def __init__(self, inner: tokenizers.Tokenizer, behind: str, joined: frozenset[str]) -> None:
        """Take what may stand behind a cut, as a class of a regular expression, and pairs that are never cut."""
        self._inner, self._joined = inner, joined
        self._clean = re.compile(f"[{_LETTERS}][{behind}]")

    def ids(self, text: str, wanted: int, *, at_start: bool) -> Sequence[int]:
        """At least the `wanted` first (or last) ids of `text`, and perhaps more; special tokens are not among them."""
        size = max(wanted * window.FIRST_CHARACTERS_PER_TOKEN, window.LEAST_CHARACTERS)
        while len(text) > size:
            place = self._last(text, 0, size) if at_start else self._first(text, len(text) - size)
            if place is not None:
                found = whole_ids(self._inner, text[:place] if at_start else text[place:])
                if len(found) >= wanted:
                    return found
            size *= GROWTH
        return self.all_ids(text)

    def all_ids(self, text: str) -> Sequence[int]:
        """The ids of all of `text`, run by run: what the library keeps of a token is fifty times its id."""
        ids = array("i")
        begin, size = 0, window.PART_CHARACTERS
        while len(text) - begin > size:
            place = self._last(text, begin, begin + size)
            if place is None:
                size *= GROWTH
                continue
            ids.extend(whole_ids(self._inner, text[begin:place]))
            begin, size = place, window.PART_CHARACTERS
        ids.extend(whole_ids(self._inner, text[begin:]))
        return ids

    def _last(self, text: str, begin: int, end: int) -> int | None:
        """The last clean cut behind `begin` and before `end`."""
        for start in dict.fromkeys((max(begin, end - _NEAR), begin)):
            places = list(self._places(text, start, end))
            if places:
                return places[-1]
        return None

    def _first(self, text: str, begin: int) -> int | None:
        """The first clean cut behind `begin`."""
        return next(self._places(text, begin, len(text)), None)

    def _places(self, text: str, begin: int, end: int) -> Iterator[int]:
        found = self._clean.finditer(text, begin, end)
        return (pair.start() + 1 for pair in found if pair.group() not in self._joined)


def cuts_of(inner: tokenizers.Tokenizer) -> Cuts | None:
    """The cuts of a tokenizer, or None where it is not known that they are clean."""
    spec = json.loads(inner.to_str())
    model, added = spec["model"], spec["added_tokens"]
    if model["type"] != "BPE" or model.get("dropout") or any(_looks_around(token) for token in added):
        return None
    pairs = frozenset(_pairs(token["content"] for token in added))
    if _splits_words(spec):
        return Cuts(inner, _BEHIND, pairs)
    if _keeps_words(spec):
        return Cuts(inner, _SPACE, pairs | frozenset(_pairs(piece for piece in model["vocab"] if _MARK in piece[1:])))
    return None


def _looks_around(token: Mapping[str, Any]) -> bool:
    """Whether an added token depends on letters beside it, or takes the white space behind its own last letter."""
    ends = re.search(f"[{_LETTERS}]$", token["content"]) is not None
    return bool(token["single_word"] or (token["rstrip"] and ends))


def _pairs(texts: Iterable[str]) -> Iterable[str]:
    """Neighbours in texts; the mark of a space counts as one."""
    for text in texts:
        for spelling in {text, unicodedata.normalize("NFC", text)}:
            yield from map("".join, pairwise(spelling.replace(_MARK, _SPACE)))


def _splits_words(spec: Mapping[str, Any]) -> bool:
    """Whether words are split by one of the known rules, and are bytes from then on."""
    before, splitter = spec["normalizer"], spec["pre_tokenizer"] or {}
    if before is not None and before["type"] != "NFC":
        return False
    if splitter.get("type") != "Sequence":
        return _has(splitter, _GPT2)
    first, *rest = splitter["pretokenizers"]
    known = _has(first, {"type": "Split", "behavior": "Isolated", "invert": False})
    pattern = first["pattern"].get("Regex") if known else None
    return pattern in _SPLITTERS and len(rest) == 1 and _has(rest[0], _BYTES)


def _keeps_words(spec: Mapping[str, Any]) -> bool:
    """Whether a text stays in one piece, but for spaces that become marks, and characters without a piece are bytes."""
    spaces = {"type": "Replace", "pattern": {"String": _SPACE}, "content": _MARK}
    splitter = {"type": "Split", "pattern": {"String": _SPACE}, "behavior": "MergedWithPrevious", "invert": False}
    model = spec["model"]
    plain = model.get("byte_fallback") and not model.get("ignore_merges")
    return bool(plain) and spec["normalizer"] == spaces and spec["pre_tokenizer"] in (None, splitter)


def _has(part: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    return all(part.get(key) == value for key, value in asked.items())
