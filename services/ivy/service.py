"""`EmbeddingService`: the road of one request, from what was asked to rows. Knows no HTTP and no JSON."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import PackingError, pack_ids, unpack_rows

from ivy.admission import Admission
from ivy.api.request import EmbeddingsRequest, Encoding
from ivy.calls import Call, Calls
from ivy.chunks import Chunk, merge
from ivy.client.card import Card
from ivy.client.engines import Engines
from ivy.config import Config
from ivy.door import RETRY_UNKNOWN_S
from ivy.errors import BadDimensions, BadRequest, EngineFailed, NoEngine
from ivy.metrics import Metrics
from ivy.prompts import Prompts, model_and_role
from ivy.timing import Timing
from ivy.tokenize.pool import TokenizerPool, cut_all
from ivy.tokenize.truncation import Truncation

_VECTOR_TYPES = {
    Encoding.FLOAT: pb.VECTOR_TYPE_FLOAT32,
    Encoding.BASE64: pb.VECTOR_TYPE_FLOAT32,
    Encoding.BASE64_INT8: pb.VECTOR_TYPE_INT8,
    Encoding.BASE64_BINARY: pb.VECTOR_TYPE_BINARY,
}
_TRUNCATIONS = {None: Truncation.NONE, "error": Truncation.NONE, "end": Truncation.END, "start": Truncation.START}


@dataclass(frozen=True, slots=True)
class Rows:
    """The vectors of a request, one row an input in the caller's order, and the tokens that they cost."""

    rows: NDArray[Any]
    tokens: int


class EmbeddingService:
    """Embeds requests."""

    def __init__(
        self,
        config: Config,
        prompts: Prompts,
        pool: TokenizerPool,
        engines: Engines,
        admission: Admission,
        metrics: Metrics,
    ) -> None:
        self._config = config
        self._prompts = prompts
        self._pool = pool
        self._engines = engines
        self._calls = Calls(engines, config.chunk_tokens)
        self._admission = admission
        self._metrics = metrics
        self._default_truncation = _TRUNCATIONS[config.embedding.truncation]

    async def embed(self, request: EmbeddingsRequest, timing: Timing, deadline: float) -> Rows:
        """Embed all inputs of a request, or none.

        Args:
            request: what was asked.
            timing: is told how long each stage took.
            deadline: on the clock of `time.monotonic`.

        Raises:
            ApiError: the request is wrong, there is no room, or no engine.
            grpc.RpcError: an engine failed.
        """
        _, role = model_and_role(request.model, self._config.served_names)
        prompt = self._prompts.chosen(request.input_type, request.prompt_name, role)
        cards = self._engines.cards()
        if not cards:
            raise NoEngine("no engine is ready to answer", retry_after_s=RETRY_UNKNOWN_S)
        _check(request, cards[0])
        bound = self._config.max_queued_tokens or sum(card.max_queued_tokens for card in cards)
        with self._admission.lease(estimate(request, prompt, cards[0].max_input_tokens), bound) as lease:
            began = time.perf_counter()
            inputs = await self._ids(request, prompt, cards[0])
            timing.tokenize_s = time.perf_counter() - began
            tokens = sum(map(len, inputs))
            lease.settle(tokens)
            rows = await self._rows(request, inputs, cards, timing, deadline)
        self._metrics.tokens.inc(tokens)
        self._metrics.inputs.inc(len(inputs))
        return Rows(rows, tokens)

    async def _ids(self, request: EmbeddingsRequest, prompt: str, card: Card) -> Sequence[Sequence[int]]:
        truncation = request.truncation or self._default_truncation
        if request.ids:
            return cut_all(request.ids, card.max_input_tokens, truncation, request.param)
        texts = [prompt + text for text in request.texts] if prompt else request.texts
        return await self._pool.ids(texts, card.max_input_tokens, truncation, request.param)

    async def _rows(
        self,
        request: EmbeddingsRequest,
        inputs: Sequence[Sequence[int]],
        cards: Sequence[Card],
        timing: Timing,
        deadline: float,
    ) -> NDArray[Any]:
        """Ask for all chunks, and put their rows together."""
        card = cards[0]
        dimensions = request.dimensions or card.dimensions
        call = Call(
            lambda chunk: chunk_request(request, chunk, card),
            lambda chunk, asked, answer: rows_of(answer, asked, len(chunk.inputs), dimensions),
        )
        answers = await self._calls.answers(inputs, call, cards, timing, deadline)
        return merge([chunk for chunk, _ in answers], [rows for _, rows in answers])


def estimate(request: EmbeddingsRequest, prompt: str, max_tokens: int) -> int:
    """About how many tokens a request has, before any of it is tokenized.

    ASCII has about four characters a token, other scripts from one to three; an input is never longer than the model
    reads, for it is cut or refused. Token ids are counted as they are.
    """
    if request.ids:
        return sum(min(len(ids), max_tokens) for ids in request.ids)
    extra = 2 + len(prompt) // 4
    return sum(
        min(extra + (len(text) // 4 if text.isascii() else len(text) // 2), max_tokens) for text in request.texts
    )


def chunk_request(request: EmbeddingsRequest, chunk: Chunk, card: Card) -> pb.EmbedRequest:
    """One chunk as the engine is asked for it."""
    token_ids, lengths = pack_ids(chunk.inputs)
    return pb.EmbedRequest(
        token_ids=token_ids,
        lengths=lengths,
        vector_type=_VECTOR_TYPES[request.encoding],
        dimensions=request.dimensions or 0,
        normalize=request.normalize,
        model_digest=card.digest,
    )


def rows_of(answer: pb.EmbedResponse, asked: pb.EmbedRequest, count: int, dimensions: int) -> NDArray[Any]:
    """The rows of an engine's answer, which must be all that was asked for.

    Raises:
        EngineFailed: a vector is not finite, or the answer is not one to the question.
    """
    if answer.failed_rows:
        raise EngineFailed("the model gave a vector with values that are not finite")
    if answer.model_digest != asked.model_digest or answer.dimensions != dimensions:
        raise EngineFailed
    try:
        return unpack_rows(answer.rows, count, asked.vector_type, dimensions)
    except PackingError as error:
        raise EngineFailed from error


def _check(request: EmbeddingsRequest, card: Card) -> None:
    """Check what depends on the model.

    Raises:
        BadDimensions: a size that the model cannot give.
        BadRequest: a token id that it does not have.
    """
    allowed = card.allowed_dimensions | {card.dimensions}
    if request.dimensions is not None and request.dimensions not in allowed:
        known = ", ".join(map(str, sorted(allowed)))
        raise BadDimensions(f"the model gives vectors of {known} dimensions", param="dimensions")
    for index, ids in enumerate(request.ids):
        if max(ids) >= card.vocabulary_size:
            place = next(place for place, token in enumerate(ids) if token >= card.vocabulary_size)
            param = f"{request.param(index)}[{place}]"
            raise BadRequest(f"{param} is {ids[place]}; token ids are 0 to {card.vocabulary_size - 1}", param=param)
