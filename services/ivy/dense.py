"""`Dense`: the vectors of pieces, in every kind that was asked for. Knows no text and no HTTP."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import PackingError, pack_ids, pack_spans, unpack_rows

from ivy.api.request import Form
from ivy.calls import Call, Calls, Turn
from ivy.chunks import Chunk
from ivy.client.card import Card
from ivy.errors import EngineFailed
from ivy.pieces import Piece, Pieces
from ivy.timing import Timing
from ivy.vectors import SOURCES, Vectors, derived, of_source, sources_of
from ivy.windows import averaged


class Dense:
    """Asks engines for vectors."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def vectors(self, pieces: Pieces, form: Form, cards: Sequence[Card], timing: Timing, turn: Turn) -> Vectors:
        """The vectors of a request, all of one pass.

        Args:
            pieces: its sequences.
            form: what is wanted of each vector.
            cards: of the engines that may be asked, all of one digest.
            timing: is told how long the engines took.
            turn: when the request is served.

        Raises:
            EngineFailed: a vector is not finite, or an answer is not one to the question.
            NoEngine: none is ready.
            TimeoutError: the deadline has passed.
            grpc.RpcError: an engine failed.
        """
        sources = sources_of(form.kinds)
        if pieces.parts is None:
            found = await self._rows(pieces, sources, form.dimensions, form.normalize, cards, timing, turn)
        else:
            # What is averaged must not be normalised yet: a mean over windows is the mean over their tokens.
            [rows] = await self._rows(pieces, [pb.VECTOR_TYPE_FLOAT32], form.dimensions, False, cards, timing, turn)
            whole = averaged(rows, pieces.parts.targets, pieces.parts.weights, pieces.count)
            normalize = cards[0].normalize if form.normalize is None else form.normalize
            found = [of_source(source, whole, normalize=normalize) for source in sources]
        by_source = dict(zip(sources, found, strict=True))
        return {kind: derived(kind, by_source[SOURCES[kind]]) for kind in form.kinds}

    async def _rows(
        self,
        pieces: Pieces,
        sources: Sequence[pb.VectorType],
        dimensions: int | None,
        normalize: bool | None,
        cards: Sequence[Card],
        timing: Timing,
        turn: Turn,
    ) -> list[NDArray[Any]]:
        """For each source all rows of the pieces, in their order."""
        card = cards[0]

        def own(chunk: Chunk) -> Sequence[Piece]:
            return pieces.pieces[chunk.first : chunk.first + len(chunk.inputs)]

        call = Call(
            lambda chunk: request_of(own(chunk), sources, dimensions, normalize, card.digest),
            lambda chunk, asked, answer: rows_of(answer, asked, own(chunk), dimensions or card.dimensions),
        )
        answers = await self._calls.answers([piece.ids for piece in pieces.pieces], call, cards, timing, turn)
        if len(answers) == 1:
            return answers[0][1]
        return [np.concatenate(rows) for rows in zip(*(found for _, found in answers), strict=True)]


def request_of(
    pieces: Sequence[Piece],
    sources: Sequence[pb.VectorType],
    dimensions: int | None,
    normalize: bool | None,
    digest: str,
) -> pb.EmbedRequest:
    """One chunk as the engine is asked for it: the first source, and the others of the same pass."""
    token_ids, lengths = pack_ids([piece.ids for piece in pieces])
    spans = _spans(pieces)
    return pb.EmbedRequest(
        token_ids=token_ids,
        lengths=lengths,
        spans=spans,
        vector_type=sources[0],
        dimensions=dimensions or 0,
        normalize=normalize,
        model_digest=digest,
        also=[
            pb.Output(spans=spans, vector_type=source, dimensions=dimensions or 0, normalize=normalize)
            for source in sources[1:]
        ],
    )


def rows_of(
    answer: pb.EmbedResponse, asked: pb.EmbedRequest, pieces: Sequence[Piece], dimensions: int
) -> list[NDArray[Any]]:
    """For each source the rows of an engine's answer, which must be all that was asked for.

    Raises:
        EngineFailed: a vector is not finite, or the answer is not one to the question.
    """
    if answer.model_digest != asked.model_digest or len(answer.also) != len(asked.also):
        raise EngineFailed
    count = sum(piece.rows for piece in pieces)
    first = _checked(answer, asked.vector_type, count, dimensions)
    also = zip(answer.also, asked.also, strict=True)
    return [first, *(_checked(rows, output.vector_type, count, dimensions) for rows, output in also)]


def _checked(
    answer: pb.EmbedResponse | pb.OutputRows, vector_type: pb.VectorType, count: int, dimensions: int
) -> NDArray[Any]:
    if answer.failed_rows:
        raise EngineFailed("the model gave a vector with values that are not finite")
    if answer.dimensions != dimensions:
        raise EngineFailed
    try:
        return unpack_rows(answer.rows, count, vector_type, dimensions)
    except PackingError as error:
        raise EngineFailed from error


def _spans(pieces: Sequence[Piece]) -> bytes:
    """The spans of a chunk; none at all where every piece is one row over all of its tokens."""
    if not any(piece.spans for piece in pieces):
        return b""
    return pack_spans(piece.spans or ((0, len(piece.ids)),) for piece in pieces)
