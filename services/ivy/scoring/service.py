"""`ScoringService`: the road of pairs, from texts to scores. Knows no HTTP and no JSON."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import PackingError, pack_ids, pack_types, unpack_rows

from ivy.admission import Admission
from ivy.calls import Call, Calls, Turn
from ivy.checks import routes_of
from ivy.chunks import Chunk, merge
from ivy.client.card import Card
from ivy.config import Config
from ivy.errors import BadRequest, EngineFailed
from ivy.hold import Hold
from ivy.inputs import about
from ivy.metrics import Metrics
from ivy.prompts import model_and_role
from ivy.scoring.by_vectors import ByVectors
from ivy.scoring.model import ScoringModel
from ivy.scoring.readers import Names
from ivy.scoring.request import Cut, PairsRequest, Texts
from ivy.timing import Timing
from ivy.tokenize.pair import Pair
from ivy.tokenize.truncation import Truncation


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a request's pairs, in their order, and the tokens that they cost."""

    raw: NDArray[np.float32]
    """Before any activation, `[pairs, labels]`: more is a better score."""
    scores: NDArray[np.float32]
    """As they were asked for, `[pairs, labels]`."""
    labels: Sequence[str]
    tokens: int


class ScoringService:
    """Scores pairs: with a model that is made for it, else by how alike their vectors are."""

    def __init__(
        self,
        config: Config,
        model: ScoringModel | None,
        by_vectors: ByVectors,
        hold: Hold,
        admission: Admission,
        metrics: Metrics,
    ) -> None:
        self._config = config
        self._model = model
        self._by_vectors = by_vectors
        self._hold = hold
        self._calls = Calls(hold, config.chunk_tokens)
        self._admission = admission
        self._metrics = metrics

    async def score(self, request: PairsRequest, timing: Timing, deadline: float) -> Scored:
        """Score all pairs of a request, or none.

        Args:
            request: what was asked.
            timing: is told how long each stage took.
            deadline: on the clock of `time.monotonic`.

        Raises:
            ApiError: the request is wrong, the model does not do this, there is no room, or no engine.
            grpc.RpcError: an engine failed.
        """
        if request.model is not None:
            model_and_role(request.model, self._config.served_names)
        cards = await self._hold.cards(lambda: _about(request), timing, deadline)
        if cards[0].task == "score":
            return await self._by_model(request, cards, timing, Turn(deadline, request.priority))
        if request.wants_labels:
            raise BadRequest(f"this model embeds and has no labels: {_instead(cards[0])}")
        found = await self._by_vectors.alike(request, self._truncation(request), timing, deadline)
        return Scored(found.values, found.values, (), found.tokens)

    def _truncation(self, request: PairsRequest) -> Truncation:
        """As asked, else as configured, else whoever ranks wants an answer for a long document too."""
        if request.truncation is not None:
            return request.truncation
        configured = {"error": Truncation.NONE, "start": Truncation.START}
        return configured.get(self._config.embedding.truncation or "end", Truncation.END)

    async def _by_model(self, request: PairsRequest, cards: Sequence[Card], timing: Timing, turn: Turn) -> Scored:
        model, card = self._model, cards[0]
        if model is None:
            # The folder here has no model that scores, and the engine's has one: they are not of one manifest.
            raise EngineFailed
        if card.dimensions > 1 and not request.wants_labels:
            raise BadRequest(f"this model gives {card.dimensions} labels and no single score: ask /predict")
        # A pair that comes twice is scored once: so both get the same score, to the last bit.
        pairs = list(dict.fromkeys(request.pairs))
        places = {pair: place for place, pair in enumerate(pairs)}
        order = [places[pair] for pair in request.pairs]
        cut = Cut(card.max_input_tokens, self._truncation(request), request.document_tokens)
        estimated = sum(min(model.reader.about(pair), cut.limit) for pair in pairs)
        bound = self._config.max_queued_tokens or sum(each.max_queued_tokens for each in cards)
        with self._admission.lease(estimated, bound) as lease:
            began = time.perf_counter()
            read = await model.reader.read(pairs, cut, _names(request, pairs))
            timing.took("tokenize", began)
            sizes = [len(pair.ids) for pair in read]
            lease.settle(sum(sizes))
            raw = await self._raw(read, cards, timing, turn)
            timing.found()
        self._metrics.tokens.inc(sum(sizes))
        self._metrics.inputs.inc(len(request.pairs))
        raw = raw[order]
        scores = raw if request.is_raw else model.activation.of(raw)
        return Scored(raw, scores, card.labels, sum(sizes[place] for place in order))

    async def _raw(
        self, pairs: Sequence[Pair], cards: Sequence[Card], timing: Timing, turn: Turn
    ) -> NDArray[np.float32]:
        """The values of all pairs, `[pairs, labels]`, in their order."""
        card = cards[0]
        call = Call(
            lambda chunk: request_of(pairs[chunk.first : chunk.first + len(chunk.inputs)], card.digest),
            lambda chunk, asked, answer: rows_of(chunk, asked, answer, card.dimensions),
        )
        found = await self._calls.answers([pair.ids for pair in pairs], call, cards, timing, turn)
        return merge([chunk for chunk, _ in found], [rows for _, rows in found])


def request_of(pairs: Sequence[Pair], digest: str) -> pb.EmbedRequest:
    """One chunk of pairs as the engine is asked for it."""
    token_ids, lengths = pack_ids([pair.ids for pair in pairs])
    return pb.EmbedRequest(
        token_ids=token_ids,
        lengths=lengths,
        token_types=pack_types([pair.types or bytes(len(pair.ids)) for pair in pairs]),
        vector_type=pb.VECTOR_TYPE_FLOAT32,
        model_digest=digest,
    )


def rows_of(chunk: Chunk, asked: pb.EmbedRequest, answer: pb.EmbedResponse, labels: int) -> NDArray[np.float32]:
    """The values of a chunk, `[pairs, labels]`, which must be all that was asked for.

    Raises:
        EngineFailed: a value is not finite, or the answer is not one to the question.
    """
    if answer.failed_rows:
        raise EngineFailed("the model gave a score that is not finite")
    if answer.model_digest != asked.model_digest or answer.dimensions != labels:
        raise EngineFailed
    try:
        return unpack_rows(answer.rows, len(chunk.inputs), asked.vector_type, labels)
    except PackingError as error:
        raise EngineFailed from error


def _about(request: PairsRequest) -> int:
    """About how many tokens the pairs have, before a model is known."""
    return sum(about(text, "") for pair in request.pairs for text in pair if text)


def _instead(card: Card) -> str:
    """What a model that embeds can be asked for instead of labels."""
    return "ask /v1/embeddings, /v1/rerank or /v1/score" if "dense" in card.outputs else routes_of(card)


def _names(request: PairsRequest, pairs: Sequence[Texts]) -> Names:
    """What errors call the texts of `pairs`: as where each comes first in the request."""

    def place(index: int) -> int:
        return request.pairs.index(pairs[index])

    return Names(lambda index: request.first(place(index)), lambda index: request.second(place(index)))
