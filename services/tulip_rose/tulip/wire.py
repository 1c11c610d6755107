"""pb → [Sequence] and [Sequence] → pb. The only file that knows both the messages and the sequence.

Everything in a request is checked here, before a sequence exists. Knows neither the queue nor the clock.
"""

from collections.abc import Sequence as Run
from typing import cast

import numpy as np
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import Ids, PackingError, Spans, row_bytes, unpack_ids, unpack_spans, unpack_types

from tulip_rose.rose.card import ModelCard
from tulip_rose.sequence import Embedded, OutputForm, OutputKind, Sequence, VectorType, Want
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
_KINDS = {
    pb.OUTPUT_KIND_DENSE: OutputKind.DENSE,
    pb.OUTPUT_KIND_SPARSE: OutputKind.SPARSE,
    pb.OUTPUT_KIND_TOKENS: OutputKind.TOKENS,
}
_WIRE_TYPES = {own: wire for wire, own in _TYPES.items()}

Asked = pb.EmbedRequest | pb.Output
"""Whatever has the fields of an output."""


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
    asked: list[Asked] = [request, *request.also]
    forms = [_form_of(each, card) for each in asked]
    _check_answer_size(request, asked, forms)
    try:
        ids = unpack_ids(request.token_ids, request.lengths)
        types = unpack_types(request.token_types, [own.size for own in ids])
        spans = [_spans_of(each, ids) for each in asked]
    except PackingError as error:
        raise BadCall(str(error)) from None
    _check_ids(request, ids, card)
    return [
        Sequence(own, tuple(map(Want, own_spans, forms)), arrival, deadline, own_types)
        for own, own_types, *own_spans in zip(ids, types, *spans, strict=True)
    ]


def response_of(sequences: Run[Sequence], card: ModelCard, queued_tokens: int) -> pb.EmbedResponse:
    """Join the rows of settled sequences, all `Embedded`, in the order they were asked for."""
    outcomes = [cast(Embedded, sequence.outcome) for sequence in sequences]
    first, *also = [_rows_of(sequences, outcomes, want) for want in range(len(sequences[0].wants))]
    return pb.EmbedResponse(
        rows=first.rows,
        dimensions=first.dimensions,
        vector_type=first.vector_type,
        failed_rows=first.failed_rows,
        queue_ms=1000 * max(outcome.queue_s for outcome in outcomes),
        forward_ms=1000 * max(outcome.forward_s for outcome in outcomes),
        queued_tokens=queued_tokens,
        model_digest=card.model_digest,
        also=also,
    )


def _rows_of(sequences: Run[Sequence], outcomes: Run[Embedded], want: int) -> pb.OutputRows:
    form = sequences[0].wants[want].form
    return pb.OutputRows(
        rows=b"".join([outcome.outputs[want].rows for outcome in outcomes]),
        dimensions=form.dimensions,
        vector_type=_WIRE_TYPES[form.vector_type],
        failed_rows=_failed_rows(sequences, outcomes, want),
    )


def _form_of(asked: Asked, card: ModelCard) -> OutputForm:
    vector_type, kind = _TYPES.get(asked.vector_type), _KINDS.get(asked.kind)
    if vector_type is None:
        raise BadCall(f"vector_type {asked.vector_type} is not one of float32, int8, binary")
    if kind not in card.outputs:
        known = ", ".join(each.value for each in card.outputs)
        raise BadCall(f"kind {asked.kind if kind is None else kind.value} cannot be given: this model gives {known}")
    normalize = asked.normalize if asked.HasField("normalize") else card.normalize
    return OutputForm(_dimensions_of(asked, kind, card), normalize, vector_type, kind)


def _dimensions_of(asked: Asked, kind: OutputKind, card: ModelCard) -> int:
    native = card.dimensions_of(kind)
    dimensions = asked.dimensions or native
    allowed = {native, *(card.allowed_dimensions if kind is OutputKind.DENSE else ())}
    if dimensions not in allowed:
        sizes = ", ".join(map(str, sorted(allowed)))
        raise BadCall(f"dimensions {dimensions} cannot be given: this model gives {sizes}")
    return dimensions


def _spans_of(asked: Asked, ids: Run[Ids]) -> Spans:
    if asked.spans or asked.kind != pb.OUTPUT_KIND_TOKENS:
        return unpack_spans(asked.spans, [own.size for own in ids])
    return [tuple((token, token + 1) for token in range(own.size)) for own in ids]


def _check_answer_size(request: pb.EmbedRequest, asked: Run[Asked], forms: Run[OutputForm]) -> None:
    """Spans are small and rows are large: without this a small request could ask for gigabytes."""
    if not request.lengths:
        raise BadCall("lengths is empty: a call has at least one sequence")
    size, all_rows = _ENVELOPE_BYTES, 0
    for each, form in zip(asked, forms, strict=True):
        whole = request.token_ids if form.kind is OutputKind.TOKENS else request.lengths
        rows = len(each.spans) // _SPAN_BYTES or len(whole) // 4
        all_rows += rows
        size += rows * (row_bytes(each.vector_type, form.dimensions) + _FAILED_ROW_BYTES)
    if size > MAX_MESSAGE_BYTES:
        raise BadCall(f"{all_rows} rows would take {size} bytes, an answer has at most {MAX_MESSAGE_BYTES}")


def _check_ids(request: pb.EmbedRequest, ids: Run[Ids], card: ModelCard) -> None:
    longest = max(range(len(ids)), key=lambda index: ids[index].size)
    if ids[longest].size > card.max_input_tokens:
        size = ids[longest].size
        raise BadCall(f"sequence {longest} has {size} tokens, this model takes at most {card.max_input_tokens}")
    # Read as unsigned, a negative id is a huge one: a single pass finds both ends.
    flat = np.frombuffer(request.token_ids, dtype="<u4")
    if int(np.maximum.reduce(flat)) >= card.vocabulary_size:
        raise BadCall(_bad_id(ids, card.vocabulary_size))
    highest = int(np.frombuffer(request.token_types, dtype=np.uint8).max(initial=0))
    if 1 < card.token_types <= highest:
        raise BadCall(f"token_types has type {highest}: this model has types 0 to {card.token_types - 1}")


def _bad_id(ids: Run[Ids], vocabulary_size: int) -> str:
    for index, own in enumerate(ids):
        wrong = np.flatnonzero((own < 0) | (own >= vocabulary_size))
        if wrong.size:
            at = int(wrong[0])
            return f"token {at} of sequence {index} is {own[at]}: ids are 0 to {vocabulary_size - 1}"
    raise AssertionError("called with ids that are all right")


def _failed_rows(sequences: Run[Sequence], outcomes: Run[Embedded], want: int) -> list[int]:
    failed: list[int] = []
    first = 0
    for sequence, outcome in zip(sequences, outcomes, strict=True):
        if outcome.outputs[want].failed_rows:
            failed += [first + row for row in outcome.outputs[want].failed_rows]
        first += len(sequence.wants[want].spans)
    return failed
