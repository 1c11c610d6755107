"""`EmbeddingService`: the road of one request, from what was asked to vectors. Knows no HTTP and no JSON."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ivy.admission import Admission
from ivy.api.request import DocumentsRequest, EmbeddingsRequest, Form
from ivy.calls import Calls
from ivy.client.card import Card
from ivy.client.engines import Engines
from ivy.config import Config
from ivy.dense import Dense
from ivy.documents import Documents, about_documents
from ivy.door import RETRY_UNKNOWN_S
from ivy.errors import BadDimensions, BadRequest, NoEngine
from ivy.inputs import Inputs, estimate
from ivy.metrics import Metrics
from ivy.model_files import ModelFacts
from ivy.pieces import Pieces
from ivy.prompts import Prompts, model_and_role
from ivy.timing import Timing
from ivy.tokenize.pool import TokenizerPool
from ivy.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of a request, and the tokens that they cost."""

    vectors: Vectors
    tokens: int


class EmbeddingService:
    """Embeds requests."""

    def __init__(
        self,
        config: Config,
        prompts: Prompts,
        facts: ModelFacts,
        pool: TokenizerPool,
        engines: Engines,
        admission: Admission,
        metrics: Metrics,
    ) -> None:
        self._config = config
        self._prompts = prompts
        self.similarity = facts.similarity
        rules = config.embedding
        self._inputs = Inputs(pool, rules.truncation, config.max_inputs, include_prompt=facts.include_prompt)
        self._documents = Documents(pool, self._inputs, facts, rules)
        self._engines = engines
        self._dense = Dense(Calls(engines, config.chunk_tokens))
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
        prompt = self._prompt(request.model, request.input_type, request.prompt_name)
        cards = self._cards(request.form)
        card = cards[0]
        _check_ids(request, card)
        tokens = estimate(request, prompt, card.max_input_tokens, self._inputs.truncation_of(request))
        make = partial(self._inputs.pieces, request, prompt, card)
        return await self._vectors(tokens, make, request.form, cards, timing, deadline)

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
        prompt = self._prompt(request.model, request.input_type, None)
        cards = self._cards(request.form)
        self._documents.check(cards[0])
        make = partial(self._documents.pieces, request, prompt, cards[0])
        return await self._vectors(about_documents(request, prompt), make, request.form, cards, timing, deadline)

    def _prompt(self, model: str | None, input_type: str | None, prompt_name: str | None) -> str:
        role = model_and_role(model, self._config.served_names)[1] if model is not None else None
        return self._prompts.chosen(input_type, prompt_name, role)

    def _cards(self, form: Form) -> list[Card]:
        """The engines that may be asked.

        Raises:
            NoEngine: none is ready.
            BadRequest: their model gives no vectors, or none of this size.
        """
        cards = self._engines.cards()
        if not cards:
            raise NoEngine("no engine is ready to answer", retry_after_s=RETRY_UNKNOWN_S)
        _check_form(form, cards[0])
        return cards

    async def _vectors(
        self,
        about: int,
        make: Callable[[], Awaitable[Pieces]],
        form: Form,
        cards: Sequence[Card],
        timing: Timing,
        deadline: float,
    ) -> Embedded:
        bound = self._config.max_queued_tokens or sum(card.max_queued_tokens for card in cards)
        with self._admission.lease(about, bound) as lease:
            began = time.perf_counter()
            pieces = await make()
            timing.tokenize_s = time.perf_counter() - began
            tokens = pieces.tokens
            lease.settle(tokens)
            vectors = await self._dense.vectors(pieces, form, cards, timing, deadline)
        self._metrics.tokens.inc(tokens)
        self._metrics.inputs.inc(pieces.count)
        return Embedded(vectors, tokens)


def _check_form(form: Form, card: Card) -> None:
    """Check what depends on the model.

    Raises:
        BadRequest: the model scores.
        BadDimensions: a size that it cannot give.
    """
    if card.task != "embed":
        raise BadRequest("this model gives scores and no vectors: ask /v1/rerank or /v1/score")
    allowed = card.allowed_dimensions | {card.dimensions}
    if form.dimensions is not None and form.dimensions not in allowed:
        known = ", ".join(map(str, sorted(allowed)))
        raise BadDimensions(f"the model gives vectors of {known} dimensions", param=form.dimensions_field)


def _check_ids(request: EmbeddingsRequest, card: Card) -> None:
    """Check token ids that the caller gave.

    Raises:
        BadRequest: the model does not have one of them.
    """
    for index, ids in enumerate(request.ids):
        if max(ids) >= card.vocabulary_size:
            place = next(place for place, token in enumerate(ids) if token >= card.vocabulary_size)
            param = f"{request.param(index)}[{place}]"
            raise BadRequest(f"{param} is {ids[place]}; token ids are 0 to {card.vocabulary_size - 1}", param=param)
