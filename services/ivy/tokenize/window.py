"""`Window`: the first or last ids of a long text, from a part of it. Exactly those that the whole text would give.

Where a tokenizer splits into words before it looks any of them up, a word's ids depend on that word alone. So the ids
of a part of the text are those of the whole text, except near the place where the text was cut:

- the word at the cut may go on beyond it. It is dropped, whole;
- an added token such as `[MASK]` may be cut in two, and its halves look like other words. Every word within the length
  of the longest added token of the cut is dropped;
- characters that the normalizer removes may hide a word that goes on. It is again the word at the cut.

If too few ids are left, a part four times as long is tried: the parts together cost a third more than the whole text,
at worst. The law holds for BERT's tokenizers, which split on white space, punctuation and Chinese characters; the
tests hold it against whole texts. Others split by rules that look further, and are not windowed: see `window_of`.
"""

import json
import re
from collections.abc import Sequence

import tokenizers

FIRST_CHARACTERS_PER_TOKEN = 6
"""English has four to five; one more spares most texts the second step."""
GROWTH = 4
LEAST_CHARACTERS = 512
"""A window below this saves nothing."""


class Window:
    """Tokenizes parts of a text. Made for one tokenizer, without state."""

    def __init__(self, inner: tokenizers.Tokenizer, margin: int, long_word: re.Pattern[str] | None) -> None:
        self._inner = inner
        self._margin = margin
        self._long_word = long_word

    def ids(self, text: str, wanted: int, *, at_start: bool) -> Sequence[int]:
        """At least the `wanted` first (or last) ids of `text`, and perhaps more; special tokens are not among them."""
        size = max(wanted * FIRST_CHARACTERS_PER_TOKEN, LEAST_CHARACTERS)
        shortened = False
        while len(text) > size:
            found = self._sure_ids(text[:size] if at_start else text[-size:], at_start=at_start)
            if len(found) >= wanted:
                return found
            text = text if shortened else self._shortened(text)
            shortened, size = True, size * GROWTH
        return whole_ids(self._inner, text)

    def _shortened(self, text: str) -> str:
        return text if self._long_word is None else self._long_word.sub(r"\1", text)

    def _sure_ids(self, part: str, *, at_start: bool) -> Sequence[int]:
        """The ids of `part` that nothing beyond its cut could change."""
        encoding = self._inner.encode(part, add_special_tokens=False)
        ids, words, offsets = encoding.ids, encoding.word_ids, encoding.offsets
        if not ids:
            return []
        if at_start:
            edge = len(part) - self._margin
            touched = {word for word, (_, end) in zip(words, offsets, strict=True) if end > edge} | {words[-1]}
            first = next(place for place, word in enumerate(words) if word in touched)
            return list(ids[:first])
        touched = {word for word, (begin, _) in zip(words, offsets, strict=True) if begin < self._margin} | {words[0]}
        last = max(place for place, word in enumerate(words) if word in touched)
        return list(ids[last + 1 :])


def whole_ids(inner: tokenizers.Tokenizer, text: str) -> Sequence[int]:
    """The ids of all of a text, without special tokens and without offsets, which cost a quarter of the time."""
    return list(inner.encode_batch_fast([text], add_special_tokens=False)[0].ids)


def window_of(inner: tokenizers.Tokenizer) -> Window | None:
    """The window of a tokenizer, or None where the law is not known to hold: then whole texts are tokenized."""
    spec = json.loads(inner.to_str())
    if (spec["normalizer"] or {}).get("type") not in (None, "BertNormalizer"):
        return None
    if (spec["pre_tokenizer"] or {}).get("type") != "BertPreTokenizer" or spec["model"]["type"] != "WordPiece":
        return None
    if any(token["lstrip"] or token["rstrip"] or token["single_word"] for token in spec["added_tokens"]):
        return None
    contents = [token["content"] for token in spec["added_tokens"]]
    return Window(inner, max(map(len, contents), default=0) + 1, _long_word(spec["model"], contents))


def _long_word(model: dict[str, object], added: list[str]) -> re.Pattern[str] | None:
    """Finds words that are unknown whatever their end is, and keeps as much of them as is needed to stay so.

    Without it, a text that is one endless word would be read to its end to find out that it is one unknown token.
    Only runs of ASCII letters and digits: they are in one word by every rule, and no normalizer removes them.
    """
    limit = model["max_input_chars_per_word"]
    if not isinstance(limit, int) or any(content.isalnum() for content in added):
        return None
    return re.compile(rf"([0-9A-Za-z]{{{limit + 1}}})[0-9A-Za-z]+")
