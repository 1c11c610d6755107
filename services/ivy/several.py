"""`Several`: rows of several kinds of one pass: vectors, weights of terms, vectors of tokens. Knows no text.

What comes back is bounded: how many tokens there are is known before engines are asked, how many terms while they
answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import PackingError, pack_ids, pack_spans, pack_unseen, row_bytes, unpack_rows
from trellis_wire.v1.terms import terms_bytes, unpack_terms

from ivy.api.request import Form
from ivy.calls import Call, Calls, Turn
from ivy.chunks import MAX_ROWS, Chunk
from ivy.client.card import Card
from ivy.errors import BadRequest, EngineFailed
from ivy.found import Found
from ivy.late import Late
from ivy.pieces import Piece, Pieces
from ivy.timing import Timing
from ivy.vectors import SOURCES, derived, sources_of

MAX_VALUES = 2048 * 4096
"""Values of tokens' vectors, or weights, of one answer: as many as the largest answer of vectors has."""
_CALL_BYTES = 48 * 1024 * 1024
"""Of the rows of one call: three quarters of what a message may hold."""


@dataclass(slots=True)
class _Asked:
    """One request on its way to engines."""

    pieces: Pieces
    form: Form
    card: Card
    kept: list[NDArray[np.intp]]
    """For each piece the tokens whose vectors count."""
    weights: int = field(default=0)
    """That have come back."""

    def own(self, chunk: Chunk) -> slice:
        """The pieces of a chunk."""
        return slice(chunk.first, chunk.first + len(chunk.inputs))


class Several:
    """Asks engines for rows of several kinds."""

    def __init__(self, calls: Calls, late: Late) -> None:
        self._calls = calls
        self._late = late

    async def found(
        self, pieces: Pieces, form: Form, cards: Sequence[Card], timing: Timing, turn: Turn, *, is_query: bool
    ) -> Found:
        """The rows of a request, all of one pass.

        Args:
            pieces: its sequences, one an input.
            form: what is wanted of each.
            cards: of the engines that may be asked, all of one digest.
            timing: is told how long the engines took.
            turn: when the request is served.
            is_query: whether the inputs are queries.

        Raises:
            BadRequest: inputs are read in windows, or the answer would be too large.
            EngineFailed: a row is not finite, or an answer is not one to the question.
            NoEngine: none is ready.
            TimeoutError: the deadline has passed.
            grpc.RpcError: an engine failed.
        """
        if pieces.parts is not None:
            raise BadRequest("weights of terms and vectors of tokens are of whole inputs: truncate chunk has windows")
        kept = [self._late.kept(piece.ids, is_query=is_query) for piece in pieces.pieces] if form.tokens else []
        asked = _Asked(pieces, form, cards[0], kept)
        _check_values(sum(map(len, kept)) * cards[0].token_dimensions, "values of tokens' vectors")
        call = Call(lambda chunk: _request(asked, chunk), lambda chunk, _, answer: _read(asked, chunk, answer))
        ids = [piece.ids for piece in pieces.pieces]
        rows, tokens = limits(form, cards[0])
        answers = await self._calls.answers(ids, call, cards, timing, turn, rows=rows, tokens=tokens)
        return _joined([found for _, found in answers])


def limits(form: Form, card: Card) -> tuple[int, int]:
    """Sequences, and tokens, of one call whose answer fits into a message whatever is in it."""
    sizes = [row_bytes(source, form.dimensions or card.dimensions) for source in sources_of(form.kinds)]
    row = sum(sizes) + (terms_bytes(form.terms or card.max_terms) if form.sparse else 0)
    token = 4 * card.token_dimensions if form.tokens else 0
    half = _CALL_BYTES // 2 if row and token else _CALL_BYTES
    return max(1, min(MAX_ROWS, half // max(row, 1))), max(1, half // max(token, 1))


def _request(asked: _Asked, chunk: Chunk) -> pb.EmbedRequest:
    pieces = asked.pieces.pieces[asked.own(chunk)]
    token_ids, lengths = pack_ids([piece.ids for piece in pieces])
    first, *also = _outputs(asked, chunk, pieces)
    return pb.EmbedRequest(
        token_ids=token_ids,
        lengths=lengths,
        unseen=pack_unseen([piece.unseen for piece in pieces]),
        kind=first.kind,
        spans=first.spans,
        vector_type=first.vector_type,
        dimensions=first.dimensions,
        normalize=first.normalize if first.HasField("normalize") else None,
        model_digest=asked.card.digest,
        also=also,
    )


def _outputs(asked: _Asked, chunk: Chunk, pieces: Sequence[Piece]) -> list[pb.Output]:
    """What is wanted: vectors by source, then weights of terms, then vectors of tokens."""
    form, float32 = asked.form, pb.VECTOR_TYPE_FLOAT32
    spans = pack_spans(piece.spans or ((0, len(piece.ids)),) for piece in pieces)
    found = [
        pb.Output(spans=spans, vector_type=source, dimensions=form.dimensions or 0, normalize=form.normalize)
        for source in sources_of(form.kinds)
    ]
    if form.sparse:
        found.append(pb.Output(kind=pb.OUTPUT_KIND_SPARSE, vector_type=float32, dimensions=form.terms or 0))
    if form.tokens:
        kept = ([(place, place + 1) for place in own.tolist()] for own in asked.kept[asked.own(chunk)])
        tokens = pb.Output(kind=pb.OUTPUT_KIND_TOKENS, vector_type=float32, spans=pack_spans(kept))
        if form.normalize is not None:
            tokens.normalize = form.normalize
        found.append(tokens)
    return found


def _read(asked: _Asked, chunk: Chunk, answer: pb.EmbedResponse) -> Found:
    """The rows of a chunk's answer, which must be all that was asked for."""
    form, card = asked.form, asked.card
    outputs: list[pb.EmbedResponse | pb.OutputRows] = [answer, *answer.also]
    sources = sources_of(form.kinds)
    if answer.model_digest != card.digest or len(outputs) != len(sources) + form.sparse + form.tokens:
        raise EngineFailed
    if any(output.failed_rows for output in outputs):
        raise EngineFailed("the model gave a row with values that are not finite")
    count, dimensions = len(chunk.inputs), form.dimensions or card.dimensions
    try:
        dense = [unpack_rows(outputs.pop(0).rows, count, source, dimensions) for source in sources]
        sparse = unpack_terms(outputs.pop(0).rows, count, card.vocabulary_size) if form.sparse else []
        tokens = _token_rows(outputs.pop(0).rows, asked.kept[asked.own(chunk)], card) if form.tokens else []
    except PackingError as error:
        raise EngineFailed from error
    asked.weights += sum(row.terms.size for row in sparse)
    _check_values(asked.weights, "weights of terms")
    by_source = dict(zip(sources, dense, strict=True))
    return Found({kind: derived(kind, by_source[SOURCES[kind]]) for kind in form.kinds}, sparse, tokens)


def _token_rows(rows: bytes, kept: Sequence[NDArray[np.intp]], card: Card) -> list[NDArray[Any]]:
    sizes = np.cumsum([own.size for own in kept])
    return np.split(unpack_rows(rows, int(sizes[-1]), pb.VECTOR_TYPE_FLOAT32, card.token_dimensions), sizes[:-1])


def _joined(found: Sequence[Found]) -> Found:
    if len(found) == 1:
        return found[0]
    vectors = {kind: np.concatenate([each.vectors[kind] for each in found]) for kind in found[0].vectors}
    return Found(
        vectors,
        [row for each in found for row in each.sparse],
        [rows for each in found for rows in each.token_rows],
    )


def _check_values(values: int, what: str) -> None:
    if values > MAX_VALUES:
        raise BadRequest(f"the answer would have {values} {what}, at most {MAX_VALUES} are given: ask for fewer inputs")
