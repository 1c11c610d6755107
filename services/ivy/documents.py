"""`Documents`: from documents of chunks to the pieces that engines are asked for. Knows no HTTP and no engine."""

import asyncio
from itertools import pairwise

from ivy.api.request import DocumentsRequest
from ivy.client.card import Card
from ivy.embedding import EmbeddingRules
from ivy.errors import BadRequest, ConfigError, ContextTooLong
from ivy.inputs import Inputs, about
from ivy.layout import Layout, documents, size
from ivy.model_files import ModelFacts
from ivy.pieces import Pieces
from ivy.tokenize.pool import NOTHING_IN_IT, TokenizerPool

OVERLAP_SHARE = 8
"""A window shares one token of so many with the one before, where nobody says."""


class Documents:
    """Puts the chunks of documents together as one model wants them."""

    def __init__(self, pool: TokenizerPool, inputs: Inputs, facts: ModelFacts, rules: EmbeddingRules) -> None:
        self._pool = pool
        self._inputs = inputs
        self._is_allowed = facts.is_contextual or rules.late_chunking
        self._windows = rules.document_windows
        self._separator = _separator(pool, facts)

    def check(self, card: Card) -> None:
        """Check that the model does this at all.

        Raises:
            BadRequest: says why it does not.
        """
        if not self._is_allowed:
            raise BadRequest("this model embeds no chunks in context, unless spec.embedding.lateChunking allows it")
        if card.pooling != "mean":
            raise BadRequest(f"chunks in context need mean pooling; this model pools {card.pooling}")

    async def pieces(self, request: DocumentsRequest, prompt: str, card: Card) -> Pieces:
        """The sequences of a request.

        Raises:
            BadRequest: a chunk has no token at all, or the prompt leaves no room.
            ContextTooLong: a document is longer than one window, and must be read at once.
        """
        layout = self._layout(prompt, card)
        bodies = await self._pool.bodies([chunk for document in request.documents for chunk in document])
        edges = [0]
        for document in request.documents:
            edges.append(edges[-1] + len(document))
        chunks = [bodies[begin:end] for begin, end in pairwise(edges)]
        for number, own in enumerate(chunks):
            if not all(own):
                place = next(place for place, ids in enumerate(own) if not ids)
                raise BadRequest(NOTHING_IN_IT, param=request.param(number, place))
            if request.is_whole and size(own, layout) > layout.max_tokens:
                raise _too_long(size(own, layout), layout.max_tokens, f"{request.field}[{number}]")
        # Not in the event loop: of millions of tokens it takes as long as reading them.
        return await asyncio.to_thread(documents, chunks, layout)

    def _layout(self, prompt: str, card: Card) -> Layout:
        tokenizer = self._pool.tokenizer
        longest = min(card.max_input_tokens, self._windows.tokens or card.max_input_tokens)
        overlap = longest // OVERLAP_SHARE if self._windows.overlap_tokens is None else self._windows.overlap_tokens
        room = longest - tokenizer.template.size
        return Layout(
            tokenizer.template,
            self._separator,
            longest,
            min(overlap, room - 1),
            tuple(tokenizer.body(prompt)) if prompt else (),
            self._inputs.pools_prompt(card.pooling, prompt),
        )


def _too_long(tokens: int, limit: int, param: str) -> ContextTooLong:
    return ContextTooLong(
        f"{limit} tokens are read at once, this document has {tokens}; shorten it, or ask for truncate 'chunk', which "
        "reads it in windows",
        param=param,
    )


def about_documents(request: DocumentsRequest, prompt: str) -> int:
    """About how many tokens a request has, before any of it is tokenized: overlaps of windows are not counted."""
    texts = sum(about(chunk, "") for document in request.documents for chunk in document)
    return texts + len(request.documents) * len(prompt) // 4


def _separator(pool: TokenizerPool, facts: ModelFacts) -> tuple[int, ...]:
    if facts.separator is None:
        return ()
    token = pool.tokenizer.token_id(facts.separator)
    if token is None:
        raise ConfigError(f"--model: the tokenizer does not know {facts.separator!r}, which stands between chunks")
    return (token,)
