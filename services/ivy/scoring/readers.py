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
from ivy.tokenize.tokenizer import TooLong
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
        tokenizer, room = self._pool.tokenizer, max(cut.limit - self._template.size, 0)
        firsts = list(dict.fromkeys(first for first, _ in pairs))
        texts = [self._prompt + first for first in firsts]
        found = await self._pool.each(texts, lambda text, _: tokenizer.part(text, room, cut.truncation))
        ids = dict(zip(firsts, found, strict=True))

        def one(second: str, index: int) -> Pair:
            first, is_pair = pairs[index][0], pairs[index][1] is not None
            try:
                made = self._pair(first, ids[first], second, cut) if is_pair else self._single(first, cut)
            except TooLong as error:
                raise too_long(error, cut.limit, param(index)) from None
            if not made.ids:
                raise BadRequest(NOTHING_IN_IT, param=param(index))
            return made

        return await self._pool.each([second or "" for _, second in pairs], one)

    def _single(self, text: str, cut: Cut) -> Pair:
        return Pair(self._pool.tokenizer.ids(self._prompt + text, cut.limit, cut.truncation))

    def _pair(self, first_text: str, first: Sequence[int], second_text: str, cut: Cut) -> Pair:
        part, room = self._pool.tokenizer.part, max(cut.limit - self._template.size, 0)
        second = _document(part(second_text, cut.document_tokens or room, cut.truncation), cut)
        if len(first) + len(second) > room:
            if cut.truncation is Truncation.NONE:
                raise TooLong(len(first) + len(second) + self._template.size)
            if room % 2 and min(len(first), len(second)) >= room:
                # The odd token goes to the longer side, and which one that is, parts of them do not tell.
                first = part(self._prompt + first_text, 0, Truncation.NONE)
                second = _document(part(second_text, 0, Truncation.NONE), cut)
            first, second = cut_pair(first, second, room, cut.truncation)
        return self._template.around(first, second, with_types=self._with_types)


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

        def one(document: str, index: int) -> Pair:
            query, second = pairs[index]
            if second is None:
                raise BadRequest("this model reads pairs of texts, this is one text", param=param(index))
            try:
                return Pair(self._ids(query, document, cut))
            except TooLong as error:
                raise too_long(error, cut.limit, param(index)) from None

        return await self._pool.each([document or "" for _, document in pairs], one)

    def _ids(self, query: str, document: str, cut: Cut) -> Sequence[int]:
        tokenizer = self._pool.tokenizer
        document = self._shortened(document, cut)
        ids = tokenizer.part(self._text.whole(query, document), cut.limit, cut.truncation)
        if len(ids) <= cut.limit:
            return ids
        if cut.truncation is Truncation.NONE:
            raise TooLong(len(ids))
        head = tokenizer.body(self._text.head(query))
        kept = cut.limit - len(head) - len(self._ending)
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


def _document(ids: Sequence[int], cut: Cut) -> Sequence[int]:
    """As much of a second side as its own bound allows."""
    if cut.document_tokens is None:
        return ids
    return ids[-cut.document_tokens :] if cut.truncation is Truncation.START else ids[: cut.document_tokens]
