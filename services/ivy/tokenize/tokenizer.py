"""`Tokenizer`: ids of a text, with the special tokens and the length of the model.

The tokenizer of the library keeps truncation and padding as settings of the object, so two requests that want
different ones would disturb each other. Here both are switched off once, for ever, and ids are cut by hand: nothing
that a request can change is shared, and every method may run in many threads at once. Knows no event loop.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tokenizers

from ivy.errors import ConfigError
from ivy.tokenize.cuts import Cuts, cuts_of
from ivy.tokenize.cuts_check import reads_alike
from ivy.tokenize.lower import lower_where_asked
from ivy.tokenize.native.choice import Choice, Fallback, choose
from ivy.tokenize.pair import PairTemplate, pair_template_of
from ivy.tokenize.prefixes import keep_whole
from ivy.tokenize.truncation import Truncation
from ivy.tokenize.window import Window, whole_ids, window_of


class TooLong(Exception):  # noqa: N818 (the pool turns it into an error of the API, which names the input)
    """A text of `tokens` tokens, special ones included, where only fewer are read."""

    def __init__(self, tokens: int) -> None:
        super().__init__(tokens)
        self.tokens = tokens


@dataclass(frozen=True, slots=True)
class Template:
    """The special tokens that stand around the ids of every text."""

    leading: tuple[int, ...]
    trailing: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.leading) + len(self.trailing)

    def around(self, ids: Sequence[int]) -> list[int]:
        """The ids of a text with the special tokens around them."""
        return [*self.leading, *ids, *self.trailing]


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a text."""

    id: int
    text: str
    """What it stands for in the text; of a special token its name."""
    is_special: bool
    """Whether it was added around the text."""
    begin: int
    """In characters of the text."""
    end: int


class Tokenizer:
    """Texts to ids as the model wants them."""

    def __init__(self, inner: tokenizers.Tokenizer, choice: Choice | None = None) -> None:
        inner.no_truncation()
        inner.no_padding()
        self._inner = inner
        self._encoder = choice.encoder if choice else None
        self.fallback = choice.fallback if choice else None
        self.template = _template_of(inner)
        self._window: Window | Cuts | None = window_of(inner) or cuts_of(inner)
        if isinstance(self._window, Cuts) and not reads_alike(self._window, inner):
            self._window, self.fallback = None, Fallback.MISMATCH

    @classmethod
    def load(cls, folder: Path, prefixes: Iterable[str] = ()) -> "Tokenizer":
        """Read `tokenizer.json` of a model's folder.

        Args:
            folder: of the model.
            prefixes: what goes before texts and is one token wherever it stands, where the vocabulary has it: whole, or
                its first word.

        Raises:
            ConfigError: it is not there, or is no tokenizer, or what the model says of lower-casing is wrong.
        """
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise ConfigError(f"--model: {path} is missing")
        try:
            inner = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception, whatever is wrong
            raise ConfigError(f"--model: {path} is not a tokenizer: {error}") from None
        lower_where_asked(inner, folder)
        keep_whole(inner, prefixes)
        return cls(inner, choose(inner))

    def ids(self, text: str, max_tokens: int, truncation: Truncation) -> list[int]:
        """The ids of a text, special tokens included.

        Args:
            text: what to tokenize, its prompt included.
            max_tokens: the longest sequence, special tokens included.
            truncation: what happens to a longer one. The special tokens always stay.

        Raises:
            TooLong: the text has more tokens, and nothing may be cut. To say how many, all of it is tokenized.
        """
        room = max(max_tokens - self.template.size, 0)
        body = self._body(text, room, truncation)
        if len(body) > room:
            if truncation is Truncation.NONE:
                raise TooLong(len(body) + self.template.size)
            body = _cut(body, room, truncation)
        return self.template.around(body)

    def body(self, text: str) -> Sequence[int]:
        """All ids of a text, without special tokens."""
        return self._body(text, 0, Truncation.NONE)

    def part(self, text: str, wanted: int, truncation: Truncation) -> Sequence[int]:
        """Ids of a text, without special tokens: all of them, or at least the `wanted` first (or last) ones."""
        return self._body(text, wanted, truncation)

    def pair_template(self) -> PairTemplate:
        """The special tokens of pairs.

        Raises:
            ConfigError: the tokenizer puts pairs together in a way that is not supported.
        """
        return pair_template_of(self._inner)

    def token_id(self, token: str) -> int | None:
        """The id of one token of the vocabulary, or None where it has none of this name."""
        return self._inner.token_to_id(token)

    def tokens(self, text: str, *, with_special: bool) -> list[Token]:
        """The tokens of a text one by one, with their places in it."""
        encoding = self._inner.encode(text, add_special_tokens=with_special)
        return [
            Token(id, text[begin:end] if sequence is not None else token, sequence is None, begin, end)
            for id, token, sequence, (begin, end) in zip(
                encoding.ids, encoding.tokens, encoding.sequence_ids, encoding.offsets, strict=True
            )
        ]

    def stranger(self, ids: Sequence[int]) -> int | None:
        """The place of the first id that stands for no token; None where each stands for one."""
        strange = {id for id in set(ids) if not 0 <= id < 2**32 or self._inner.id_to_token(id) is None}
        return next((place for place, id in enumerate(ids) if id in strange), None) if strange else None

    def last_id(self) -> int:
        """The largest id of a token."""
        return max(self._inner.get_vocab(with_added_tokens=True).values())

    def text(self, ids: Sequence[int], *, skip_special: bool) -> str:
        """The text of ids, as near as the tokenizer can give it back."""
        return str(self._inner.decode(ids, skip_special_tokens=skip_special))

    def _body(self, text: str, room: int, truncation: Truncation) -> Sequence[int]:
        """The ids without special ones: all of them, or at least those that stay when `room` are kept."""
        if self._encoder is not None:
            wanted = None if truncation is Truncation.NONE else room
            ids = self._encoder.ids(text, wanted, at_start=truncation is Truncation.END)
            if ids is not None:
                return ids
        if self._window is None:
            return whole_ids(self._inner, text)
        if truncation is Truncation.NONE:
            return self._window.all_ids(text)
        return self._window.ids(text, room, at_start=truncation is Truncation.END)


def cut_ids(ids: Sequence[int], max_tokens: int, truncation: Truncation) -> Sequence[int]:
    """Cut ids that a caller gave. They are taken as they are: no special token is kept, for none is known.

    Raises:
        TooLong: they are more than `max_tokens`, and nothing may be cut.
    """
    if len(ids) <= max_tokens:
        return ids
    if truncation is Truncation.NONE:
        raise TooLong(len(ids))
    return _cut(ids, max_tokens, truncation)


def _cut(ids: Sequence[int], room: int, truncation: Truncation) -> Sequence[int]:
    start = len(ids) - room if truncation is Truncation.START else 0
    return ids[start : start + room]


def _template_of(inner: tokenizers.Tokenizer) -> Template:
    """Read the special tokens off an encoded text: the ids that belong to no sequence.

    Raises:
        ConfigError: special tokens stand inside the text, where cutting by hand would lose them.
    """
    encoding = inner.encode("a")
    places = [place for place, sequence in enumerate(encoding.sequence_ids) if sequence is not None]
    if not places or places != list(range(places[0], places[-1] + 1)):
        raise ConfigError("--model: the tokenizer puts special tokens between those of a text, which is not supported")
    return Template(tuple(encoding.ids[: places[0]]), tuple(encoding.ids[places[-1] + 1 :]))
