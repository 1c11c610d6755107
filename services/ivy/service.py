"""`EmbeddingService`: the road of one request, from what was asked to vectors. Knows no HTTP and no JSON."""

import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from ivy.admission import Admission
from ivy.api.request import DocumentsRequest, EmbeddingsRequest, Form
from ivy.calls import Calls, Turn
from ivy.checks import check_form, check_ids
from ivy.client.card import Card
from ivy.config import Config
from ivy.dense import Dense
from ivy.documents import Documents, about_documents
from ivy.found import Embedded, Found
from ivy.hold import Hold
from ivy.inputs import Inputs, estimate
from ivy.late import Late
from ivy.metrics import Metrics
from ivy.model_files import ModelFacts
from ivy.pieces import Pieces
from ivy.prompts import Prompts, model_and_role
from ivy.several import Several
from ivy.timing import Timing
from ivy.tokenize.pool import TokenizerPool


class EmbeddingService:
    """Embeds requests."""

    def __init__(
        self,
        config: Config,
        prompts: Prompts,
        facts: ModelFacts,
        late: Late,
        pool: TokenizerPool,
        hold: Hold,
        admission: Admission,
        metrics: Metrics,
    ) -> None:
        self._config = config
        self._prompts = prompts
        self.similarity = facts.similarity
        rules = config.embedding
        self._inputs = Inputs(pool, rules.truncation, config.max_inputs, include_prompt=facts.include_prompt)
        self._documents = Documents(pool, self._inputs, facts, rules)
        self._hold = hold
        calls = Calls(hold, config.chunk_tokens)
        self._dense = Dense(calls)
        self._late = late
        self._several = Several(calls, late)
        self._admission = admission
        self._metrics = metrics

    async def embed(self, request: EmbeddingsRequest, timing: Timing, deadline: float) -> Embedded:
        """Embed all inputs of a request, or none.

        Args:
            request: what was asked.
            timing: is told how long each stage took.
            deadline: on the clock of `time.monotonic`.

        Raises:
            ApiError: the request is wrong, there is no room, or no engine.
            grpc.RpcError: an engine failed.
        """
        turn = Turn(deadline, request.priority)
        prompt = self._prompt(request.model, request.input_type, request.prompt_name)
        truncation = self._inputs.truncation_of(request)

        def about() -> int:
            return estimate(request, prompt, sys.maxsize, truncation)

        cards = await self._cards(request.form, about, timing, deadline)
        card = cards[0]
        check_ids(request, card)
        form = request.form
        is_query = form.tokens and self._is_query(request)
        asked = self._late.cut(request, is_query=is_query)
        tokens = estimate(asked, prompt, card.max_input_tokens, self._inputs.truncation_of(asked))

        async def make() -> Pieces:
            return self._late.filled(await self._inputs.pieces(asked, prompt, card), is_query=is_query)

        async def found(pieces: Pieces) -> Found:
            if form.sparse or form.tokens:
                return await self._several.found(pieces, form, cards, timing, turn, is_query=is_query)
            return Found(await self._dense.vectors(pieces, form, cards, timing, turn))

        return await self._rows(tokens, make, found, cards, timing)

    async def documents(self, request: DocumentsRequest, timing: Timing, deadline: float) -> Embedded:
        """Embed the chunks of all documents of a request, each in the light of its document, or none.

        Args:
            request: what was asked.
            timing: is told how long each stage took.
            deadline: on the clock of `time.monotonic`.

        Returns:
            One row a chunk, document by document.

        Raises:
            ApiError: the request is wrong, the model does not do this, there is no room, or no engine.
            grpc.RpcError: an engine failed.
        """
        turn = Turn(deadline, request.priority)
        prompt = self._prompt(request.model, request.input_type, request.prompt_name)
        about = about_documents(request, prompt)
        cards = await self._cards(request.form, lambda: about, timing, deadline)
        self._documents.check(cards[0])
        make = partial(self._documents.pieces, request, prompt, cards[0])

        async def found(pieces: Pieces) -> Found:
            return Found(await self._dense.vectors(pieces, request.form, cards, timing, turn))

        return await self._rows(about, make, found, cards, timing)

    def _prompt(self, model: str | None, input_type: str | None, prompt_name: str | None) -> str:
        role = model_and_role(model, self._config.served_names)[1] if model is not None else None
        return self._prompts.chosen(input_type, prompt_name, role)

    async def _cards(self, form: Form, about: Callable[[], int], timing: Timing, deadline: float) -> list[Card]:
        """The engines that may be asked.

        Raises:
            NoEngine: none is ready, and none became so while the request was held.
            Overloaded: too many are held.
            BadRequest: their model gives no vectors, or none of this size.
        """
        cards = await self._hold.cards(about, timing, deadline)
        check_form(form, cards[0])
        return cards

    def _is_query(self, request: EmbeddingsRequest) -> bool:
        role = model_and_role(request.model, self._config.served_names)[1] if request.model is not None else None
        return self._prompts.is_query(request.input_type, request.prompt_name, role)

    async def _rows(
        self,
        about: int,
        make: Callable[[], Awaitable[Pieces]],
        found: Callable[[Pieces], Awaitable[Found]],
        cards: Sequence[Card],
        timing: Timing,
    ) -> Embedded:
        """Make the sequences of a request that has about so many tokens, and find their rows."""
        bound = self._config.max_queued_tokens or sum(card.max_queued_tokens for card in cards)
        with self._admission.lease(about, bound) as lease:
            began = time.perf_counter()
            pieces = await make()
            timing.took("tokenize", began)
            tokens = pieces.tokens
            lease.settle(tokens)
            rows = await found(pieces)
            timing.found()
        self._metrics.tokens.inc(tokens)
        self._metrics.inputs.inc(pieces.count)
        return Embedded(rows.vectors, rows.sparse, rows.token_rows, tokens)
