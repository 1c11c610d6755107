"""Pairs of texts to token ids: through the tokenizer's own special tokens, or through a text that a template makes.

Knows no engine and no HTTP.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

from ivy.errors import BadRequest, ContextTooLong
from ivy.inputs import about
from ivy.scoring.pair_text import PairText
from ivy.scoring.request import Cut, Texts
from ivy.tokenize.pair import Pair, PairTemplate, cut_pair
from ivy.tokenize.pool import NOTHING_IN_IT, TokenizerPool, too_long
from ivy.tokenize.tokenizer import Tokenizer, TooLong
from ivy.tokenize.truncation import Truncation


@dataclass(frozen=True, slots=True)
class Names:
    """What errors call the texts of the pair at an index."""

    first: Callable[[int], str]
    second: Callable[[int], str]


class NoRoom(Exception):  # noqa: N818 (a reader turns it into an error of the API, which names the text)
    """A first text of `tokens` tokens, with all that the model reads besides: nothing is left for the second one."""

    def __init__(self, tokens: int) -> None:
        super().__init__(tokens)
        self.tokens = tokens


class PairReader(Protocol):
    """What tokenizes pairs for one model."""

    async def read(self, pairs: Sequence[Texts], cut: Cut, names: Names) -> list[Pair]:
        """Tokenize pairs, in their order.

        Args:
            pairs: their texts.
            cut: how long one may be.
            names: what an error calls the texts of a pair.

        Raises:
            ContextTooLong: one of them is too long and nothing may be cut, or its first text leaves no room at all.
            BadRequest: one of them has no token at all, or is no pair where the model needs one.
        """

    def about(self, pair: Texts) -> int:
        """About how many tokens a pair has, before it is tokenized."""


class SpecialTokens:
    """Each side by itself, with the model's special tokens around and between."""

    def __init__(self, pool: TokenizerPool, template: PairTemplate, prompt: str, *, with_types: bool) -> None:
        self._pool = pool
        self._template = template
        self._prompt = prompt
        self._with_types = with_types

    def about(self, pair: Texts) -> int:
        """See `PairReader`."""
        return about(pair[0], self._prompt) + about(pair[1] or "", "")

    async def read(self, pairs: Sequence[Texts], cut: Cut, names: Names) -> list[Pair]:
        """See `PairReader`."""
        sides = _Sides(self._pool.tokenizer, self._template, cut, with_types=self._with_types)
        firsts = list(dict.fromkeys(first for first, second in pairs if second is not None))
        found = await self._pool.each([self._prompt + first for first in firsts], lambda text, _: sides.first(text))
        ids = dict(zip(firsts, found, strict=True))

        def one(text: str, index: int) -> Pair:
            first, second = pairs[index]
            try:
                made = sides.single(text) if second is None else sides.pair(self._prompt + first, ids[first], second)
            except TooLong as error:
                raise too_long(error, cut.limit, names.second(index)) from None
            except NoRoom as error:
                raise no_room(error, cut.limit, names.first(index)) from None
            if not made.ids:
                raise BadRequest(NOTHING_IN_IT, param=names.second(index))
            return made

        texts = [self._prompt + first if second is None else second for first, second in pairs]
        return await self._pool.each(texts, one)


class _Sides:
    """The sides of one request's pairs."""

    def __init__(self, tokenizer: Tokenizer, template: PairTemplate, cut: Cut, *, with_types: bool) -> None:
        self._tokenizer = tokenizer
        self._template = template
        self._cut = cut
        self._with_types = with_types
        self._room = max(cut.limit - template.size, 0)
        self._whole: dict[str, Sequence[int]] = {}

    def first(self, text: str) -> Sequence[int]:
        """The ids of a first side, as many as there can be room for."""
        return self._tokenizer.part(text, self._room, self._cut.truncation)

    def single(self, text: str) -> Pair:
        """A text that stands alone."""
        return Pair(self._tokenizer.ids(text, self._cut.limit, self._cut.truncation))

    def pair(self, first_text: str, first: Sequence[int], second_text: str) -> Pair:
        """A pair, cut.

        Raises:
            TooLong: it is too long, and nothing may be cut.
            NoRoom: the first text is too long by itself and may not be cut, or nothing of the second one could stay.
        """
        wanted = self._cut.document_tokens or self._room
        second = self._bounded(self._tokenizer.part(second_text, wanted, self._cut.truncation))
        if len(first) + len(second) > self._room:
            if self._cut.truncation is Truncation.NONE:
                self._refuse(first, second)
            if self._room % 2 and min(len(first), len(second)) >= self._room:
                # The odd token goes to the longer side, and which one that is, parts of them do not tell.
                first = self._whole_first(first_text)
                second = self._bounded(self._tokenizer.body(second_text))
            whole, (first, second) = second, cut_pair(first, second, self._room, self._cut.truncation)
            if whole and not second:
                raise NoRoom(len(self._whole_first(first_text)) + self._template.size)
        return self._template.around(first, second, with_types=self._with_types)

    def _refuse(self, first: Sequence[int], second: Sequence[int]) -> NoReturn:
        """Blame the text that is to blame."""
        if len(first) >= self._room:
            raise NoRoom(len(first) + self._template.size)
        raise TooLong(len(first) + len(second) + self._template.size)

    def _whole_first(self, text: str) -> Sequence[int]:
        """All ids of a first side: found once, however many pairs it is in."""
        if text not in self._whole:
            self._whole[text] = self._tokenizer.body(text)
        return self._whole[text]

    def _bounded(self, ids: Sequence[int]) -> Sequence[int]:
        """As much of a second side as its own bound allows."""
        bound = self._cut.document_tokens
        if bound is None:
            return ids
        return ids[-bound:] if self._cut.truncation is Truncation.START else ids[:bound]


class TemplateText:
    """One text that is made of both sides, without the tokenizer's special tokens: the template has all of them."""

    def __init__(self, pool: TokenizerPool, text: PairText) -> None:
        self._pool = pool
        self._text = text
        self._ending = pool.tokenizer.body(text.after)
        self._around = about(text.whole("", ""), "")

    def about(self, pair: Texts) -> int:
        """See `PairReader`."""
        # Side by side, and not joined: of a long query and many documents that would be gigabytes.
        return self._around + about(pair[0], "") + about(pair[1] or "", "")

    async def read(self, pairs: Sequence[Texts], cut: Cut, names: Names) -> list[Pair]:
        """See `PairReader`."""
        heads = {query: self._text.head(query) for query, _ in pairs}
        found = await self._pool.each(list(heads.values()), lambda text, _: self._pool.tokenizer.body(text))
        ids = dict(zip(heads, found, strict=True))
        self._check(pairs, ids, cut, names)

        def one(document: str, index: int) -> Pair:
            query = pairs[index][0]
            try:
                return Pair(self._ids(query, ids[query], document, cut))
            except TooLong as error:
                raise too_long(error, cut.limit, names.second(index)) from None

        longest = max(map(len, heads.values()), default=0)
        return await self._pool.each([document or "" for _, document in pairs], one, more=longest)

    def _check(self, pairs: Sequence[Texts], heads: Mapping[str, Sequence[int]], cut: Cut, names: Names) -> None:
        """Check that each is a pair whose document can be read at all: what stands around it is never cut."""
        for index, (query, document) in enumerate(pairs):
            if document is None:
                raise BadRequest("this model reads pairs of texts, this is one text", param=names.second(index))
            size = len(heads[query]) + len(self._ending)
            if size >= cut.limit:
                raise no_room(NoRoom(size), cut.limit, names.first(index))

    def _ids(self, query: str, head: Sequence[int], document: str, cut: Cut) -> Sequence[int]:
        tokenizer = self._pool.tokenizer
        document = self._shortened(document, cut)
        # One more than fits: as many as fit may be all of a text, or the part of one that lacks its ending.
        ids = tokenizer.part(self._text.whole(query, document), cut.limit + 1, cut.truncation)
        if len(ids) <= cut.limit:
            return ids
        if cut.truncation is Truncation.NONE:
            raise TooLong(len(ids))
        if cut.truncation is Truncation.START:
            kept = cut.limit - len(head) - len(self._ending)
            return [*head, *tokenizer.part(document, kept, cut.truncation)[-kept:], *self._ending]
        return [*ids[: cut.limit - len(self._ending)], *self._ending]

    def _shortened(self, document: str, cut: Cut) -> str:
        """As much of a document as its own bound allows."""
        if cut.document_tokens is None:
            return document
        tokens = self._pool.tokenizer.tokens(document, with_special=False)
        if len(tokens) <= cut.document_tokens:
            return document
        if cut.truncation is Truncation.START:
            return document[tokens[-cut.document_tokens].begin :]
        return document[: tokens[cut.document_tokens - 1].end]


def no_room(error: NoRoom, limit: int, param: str) -> ContextTooLong:
    """The error of the API for a first text that leaves nothing for the second one."""
    return ContextTooLong(
        f"{param} has {error.tokens} tokens with what the model reads besides the texts, of {limit} that it reads in "
        "all: no room is left for the other text; shorten it",
        param=param,
    )
