"""`Window`: ids of a long text, from parts of it. Exactly those that the whole text would give.

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
from array import array
from collections.abc import Sequence

import tokenizers

FIRST_CHARACTERS_PER_TOKEN = 6
"""English has four to five; one more spares most texts the second step."""
GROWTH = 4
LEAST_CHARACTERS = 512
"""A window below this saves nothing."""
PART_CHARACTERS = 32 * 1024
"""Of a text that is tokenized whole: more at once would cost memory and save no time."""


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
        return self.all_ids(text)

    def all_ids(self, text: str) -> Sequence[int]:
        """The ids of all of `text`, part by part: what the library keeps of a token is fifty times its id."""
        if len(text) <= PART_CHARACTERS:
            return whole_ids(self._inner, text)
        text = self._shortened(text)
        ids = array("i")
        begin, size = 0, PART_CHARACTERS
        while len(text) - begin > size:
            part = _Part(self._inner, text[begin : begin + size])
            sure = part.sure_until(len(part.text) - self._margin)
            ids.extend(part.ids[:sure])
            # A part that is one word says nothing yet: the word may go on.
            size = PART_CHARACTERS if sure else size * GROWTH
            begin += part.offsets[sure][0] if sure else 0
        ids.extend(whole_ids(self._inner, text[begin:]))
        return ids

    def _shortened(self, text: str) -> str:
        return text if self._long_word is None else self._long_word.sub(r"\1", text)

    def _sure_ids(self, text: str, *, at_start: bool) -> Sequence[int]:
        """The ids of a part that nothing beyond its cut could change."""
        part = _Part(self._inner, text)
        if at_start:
            return part.ids[: part.sure_until(len(text) - self._margin)]
        return part.ids[part.sure_from(self._margin) :]


class _Part:
    """A part of a text, tokenized."""

    def __init__(self, inner: tokenizers.Tokenizer, text: str) -> None:
        encoding = inner.encode(text, add_special_tokens=False)
        self.text = text
        self.ids: Sequence[int] = encoding.ids
        self.words = encoding.word_ids
        self.offsets = encoding.offsets

    def sure_until(self, edge: int) -> int:
        """How many tokens come before the first word that reaches beyond `edge`, or is the last one."""
        if not self.ids:
            return 0
        pairs = zip(self.words, self.offsets, strict=True)
        touched = {word for word, (_, end) in pairs if end > edge} | {self.words[-1]}
        return next(place for place, word in enumerate(self.words) if word in touched)

    def sure_from(self, edge: int) -> int:
        """Where the tokens begin that come after the last word that begins before `edge`, or is the first one."""
        if not self.ids:
            return 0
        pairs = zip(self.words, self.offsets, strict=True)
        touched = {word for word, (begin, _) in pairs if begin < edge} | {self.words[0]}
        return max(place for place, word in enumerate(self.words) if word in touched) + 1


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
