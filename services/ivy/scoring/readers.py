"""Pairs of texts to token ids: through the tokenizer's own special tokens, or through a text that a template makes.

Knows no engine and no HTTP.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from ivy.errors import BadRequest
from ivy.inputs import about
from ivy.scoring.pair_text import PairText
from ivy.scoring.request import Cut, Texts
from ivy.tokenize.pair import Pair, PairTemplate, cut_pair
from ivy.tokenize.pool import NOTHING_IN_IT, TokenizerPool, too_long
from ivy.tokenize.tokenizer import Tokenizer, TooLong
from ivy.tokenize.truncation import Truncation


class PairReader(Protocol):
    """What tokenizes pairs for one model."""

    async def read(self, pairs: Sequence[Texts], cut: Cut, param: Callable[[int], str]) -> list[Pair]:
        """Tokenize pairs, in their order.

        Args:
            pairs: their texts.
            cut: how long one may be.
            param: what an error calls the pair at an index.

        Raises:
            ContextTooLong: one of them is too long, and nothing may be cut.
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

    async def read(self, pairs: Sequence[Texts], cut: Cut, param: Callable[[int], str]) -> list[Pair]:
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
                raise too_long(error, cut.limit, param(index)) from None
            if not made.ids:
                raise BadRequest(NOTHING_IN_IT, param=param(index))
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
        """
        wanted = self._cut.document_tokens or self._room
        second = self._bounded(self._tokenizer.part(second_text, wanted, self._cut.truncation))
        if len(first) + len(second) > self._room:
            if self._cut.truncation is Truncation.NONE:
                raise TooLong(len(first) + len(second) + self._template.size)
            if self._room % 2 and min(len(first), len(second)) >= self._room:
                # The odd token goes to the longer side, and which one that is, parts of them do not tell.
                first = self._whole_first(first_text)
                second = self._bounded(self._tokenizer.body(second_text))
            first, second = cut_pair(first, second, self._room, self._cut.truncation)
        return self._template.around(first, second, with_types=self._with_types)

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

    def about(self, pair: Texts) -> int:
        """See `PairReader`."""
        return about(self._text.whole(pair[0], pair[1] or ""), "")

    async def read(self, pairs: Sequence[Texts], cut: Cut, param: Callable[[int], str]) -> list[Pair]:
        """See `PairReader`."""
        heads = {query: self._text.head(query) for query, _ in pairs}
        found = await self._pool.each(list(heads.values()), lambda text, _: self._pool.tokenizer.body(text))
        ids = dict(zip(heads, found, strict=True))

        def one(document: str, index: int) -> Pair:
            query, second = pairs[index]
            if second is None:
                raise BadRequest("this model reads pairs of texts, this is one text", param=param(index))
            try:
                return Pair(self._ids(query, ids[query], document, cut))
            except TooLong as error:
                raise too_long(error, cut.limit, param(index)) from None

        read = [len(head) for query, head in heads.items() if len(ids[query]) < cut.limit]
        return await self._pool.each([document or "" for _, document in pairs], one, more=max(read, default=0))

    def _ids(self, query: str, head: Sequence[int], document: str, cut: Cut) -> Sequence[int]:
        tokenizer = self._pool.tokenizer
        document = self._shortened(document, cut)
        # A query that fills all of it leaves nothing to read of any document: it is not tokenized for each of them.
        is_full = len(head) >= cut.limit
        ids = head if is_full else tokenizer.part(self._text.whole(query, document), cut.limit, cut.truncation)
        if not is_full and len(ids) <= cut.limit:
            return ids
        kept = cut.limit - len(head) - len(self._ending)
        if cut.truncation is Truncation.NONE:
            raise TooLong(len(head) + len(tokenizer.body(document)) + len(self._ending) if is_full else len(ids))
        if cut.truncation is Truncation.START and kept > 0:
            return [*head, *tokenizer.body(document)[-kept:], *self._ending]
        return [*ids[: max(cut.limit - len(self._ending), 0)], *self._ending]

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
