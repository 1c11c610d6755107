"""pb → [Sequence] and [Sequence] → pb. The only file that knows both the messages and the sequence.

Everything in a request is checked here, before a sequence exists. Knows neither the queue nor the clock.
"""

from collections.abc import Sequence as Run
from typing import cast

import numpy as np
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import Ids, PackingError, row_bytes, unpack_ids, unpack_spans

from tulip_rose.rose.card import ModelCard
from tulip_rose.sequence import Embedded, OutputForm, Sequence, VectorType
from tulip_rose.tulip.errors import BadCall, WrongDigest

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Of a request and of a response: 2048 rows of 4096 float32 are half of it."""

_ENVELOPE_BYTES = 1024
_FAILED_ROW_BYTES = 5
"""A varint, at worst: every row can fail."""
_SPAN_BYTES = 12
_TYPES = {
    pb.VECTOR_TYPE_FLOAT32: VectorType.FLOAT32,
    pb.VECTOR_TYPE_INT8: VectorType.INT8,
    pb.VECTOR_TYPE_BINARY: VectorType.BINARY,
}
_WIRE_TYPES = {own: wire for wire, own in _TYPES.items()}


def sequences_of(request: pb.EmbedRequest, card: ModelCard, arrival: float, deadline: float) -> list[Sequence]:
    """Read a request, with every check that the model's card allows.

    Args:
        request: as it came.
        card: of the model served.
        arrival: `time.monotonic()` seconds.
        deadline: `time.monotonic()` seconds.

    Raises:
        BadCall: names the field and the number that is wrong.
        WrongDigest: the request is meant for another model.
    """
    if request.model_digest and request.model_digest != card.model_digest:
        raise WrongDigest(f"this engine serves digest {card.model_digest}, the call is for {request.model_digest}")
    form = _form_of(request, card)
    _check_answer_size(request, card)
    try:
        ids = unpack_ids(request.token_ids, request.lengths)
        spans = unpack_spans(request.spans, [own.size for own in ids])
    except PackingError as error:
        raise BadCall(str(error)) from None
    _check_ids(request, ids, card)
    return [Sequence(own, own_spans, form, arrival, deadline) for own, own_spans in zip(ids, spans, strict=True)]


def response_of(sequences: Run[Sequence], card: ModelCard, queued_tokens: int) -> pb.EmbedResponse:
    """Join the rows of settled sequences, all `Embedded`, in the order they were asked for."""
    outcomes = [cast(Embedded, sequence.outcome) for sequence in sequences]
    form = sequences[0].form
    return pb.EmbedResponse(
        rows=b"".join([outcome.rows for outcome in outcomes]),
        dimensions=form.dimensions,
        vector_type=_WIRE_TYPES[form.vector_type],
        failed_rows=_failed_rows(sequences, outcomes),
        queue_ms=1000 * max(outcome.queue_s for outcome in outcomes),
        forward_ms=1000 * max(outcome.forward_s for outcome in outcomes),
        queued_tokens=queued_tokens,
        model_digest=card.model_digest,
    )


def _form_of(request: pb.EmbedRequest, card: ModelCard) -> OutputForm:
    vector_type = _TYPES.get(request.vector_type)
    if vector_type is None:
        raise BadCall(f"vector_type {request.vector_type} is not one of float32, int8, binary")
    dimensions = request.dimensions or card.dimensions
    if dimensions != card.dimensions and dimensions not in card.allowed_dimensions:
        sizes = ", ".join(str(size) for size in sorted({card.dimensions, *card.allowed_dimensions}))
        raise BadCall(f"dimensions {dimensions} cannot be given: this model gives {sizes}")
    normalize = request.normalize if request.HasField("normalize") else card.normalize
    return OutputForm(dimensions, normalize, vector_type)


def _check_answer_size(request: pb.EmbedRequest, card: ModelCard) -> None:
    """Spans are small and rows are large: without this a small request could ask for gigabytes."""
    rows = len(request.spans) // _SPAN_BYTES or len(request.lengths) // 4
    if not rows:
        raise BadCall("lengths is empty: a call has at least one sequence")
    one = row_bytes(request.vector_type, request.dimensions or card.dimensions) + _FAILED_ROW_BYTES
    size = rows * one + _ENVELOPE_BYTES
    if size > MAX_MESSAGE_BYTES:
        raise BadCall(f"{rows} rows would take {size} bytes, an answer has at most {MAX_MESSAGE_BYTES}")


def _check_ids(request: pb.EmbedRequest, ids: Run[Ids], card: ModelCard) -> None:
    longest = max(range(len(ids)), key=lambda index: ids[index].size)
    if ids[longest].size > card.max_input_tokens:
        size = ids[longest].size
        raise BadCall(f"sequence {longest} has {size} tokens, this model takes at most {card.max_input_tokens}")
    # Read as unsigned, a negative id is a huge one: a single pass finds both ends.
    flat = np.frombuffer(request.token_ids, dtype="<u4")
    if int(np.maximum.reduce(flat)) >= card.vocabulary_size:
        raise BadCall(_bad_id(ids, card.vocabulary_size))


def _bad_id(ids: Run[Ids], vocabulary_size: int) -> str:
    for index, own in enumerate(ids):
        wrong = np.flatnonzero((own < 0) | (own >= vocabulary_size))
        if wrong.size:
            at = int(wrong[0])
            return f"token {at} of sequence {index} is {own[at]}: ids are 0 to {vocabulary_size - 1}"
    raise AssertionError("called with ids that are all right")


def _failed_rows(sequences: Run[Sequence], outcomes: Run[Embedded]) -> list[int]:
    failed: list[int] = []
    first = 0
    for sequence, outcome in zip(sequences, outcomes, strict=True):
        if outcome.failed_rows:
            failed += [first + row for row in outcome.failed_rows]
        first += len(sequence.spans)
    return failed
