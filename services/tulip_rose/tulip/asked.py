"""What a request asks of each row: its form, and how much all rows can take. Pure; knows no sequence.

Spans are small and rows are large: without a bound a small request could ask for gigabytes. How many terms a sparse row
will have is not known before it is made, so what is counted is the most that it can have.
"""

from collections.abc import Sequence as Run

from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import Ids, Spans, row_bytes, unpack_spans
from trellis_wire.v1.terms import terms_bytes

from tulip_rose.rose.card import ModelCard, Task
from tulip_rose.sequence import OutputForm, OutputKind, VectorType
from tulip_rose.tulip.errors import BadCall

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Of a request and of a response: 2048 rows of 4096 float32 are half of it."""

MAX_WEIGHTS_BYTES = 1024 * 1024 * 1024
"""A sparse row is made from a weight for each term of the vocabulary, however few are asked for."""

_ENVELOPE_BYTES = 1024
_WEIGHT_BYTES = 4
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
WIRE_TYPES = {own: wire for wire, own in _TYPES.items()}

Asked = pb.EmbedRequest | pb.Output
"""Whatever has the fields of an output."""


def form_of(asked: Asked, card: ModelCard) -> OutputForm:
    """The form of each row.

    Raises:
        BadCall: the model has no such rows; names the field.
    """
    vector_type, kind = _TYPES.get(asked.vector_type), _KINDS.get(asked.kind)
    if vector_type is None:
        raise BadCall(f"vector_type {asked.vector_type} is not one of float32, int8, binary")
    if kind not in card.outputs:
        known = ", ".join(each.value for each in card.outputs)
        raise BadCall(f"kind {asked.kind if kind is None else kind.value} cannot be given: this model gives {known}")
    if kind is OutputKind.SPARSE:
        return _sparse(asked, vector_type, card)
    normalize = asked.normalize if asked.HasField("normalize") else card.normalize
    if card.task is Task.SCORE and (normalize or vector_type is not VectorType.FLOAT32):
        how = "normalize true" if normalize else f"vector_type {vector_type.value}"
        raise BadCall(f"{how} cannot be given: scores are float32 as they come")
    return OutputForm(_dimensions_of(asked, kind, card), normalize, vector_type, kind)


def spans_of(asked: Asked, ids: Run[Ids]) -> Spans:
    """The spans of each sequence.

    Raises:
        BadCall: the rows are vectors of tokens, and a span is not one token.
        PackingError: the bytes are not spans of these sequences.
    """
    if asked.kind != pb.OUTPUT_KIND_TOKENS:
        return unpack_spans(asked.spans, [own.size for own in ids])
    if not asked.spans:
        return [tuple((token, token + 1) for token in range(own.size)) for own in ids]
    spans = unpack_spans(asked.spans, [own.size for own in ids])
    wrong = next((span for own in spans for span in own if span[1] - span[0] != 1), None)
    if wrong is not None:
        raise BadCall(f"span [{wrong[0]}, {wrong[1]}) is not one token, as spans of kind tokens are")
    return spans


def check_answer_size(request: pb.EmbedRequest, asked: Run[Asked], forms: Run[OutputForm], card: ModelCard) -> None:
    """Check that an answer fits into a message, whatever is in it, and what it is made from into memory.

    Raises:
        BadCall: it does not, or there is no sequence at all.
    """
    if not request.lengths:
        raise BadCall("lengths is empty: a call has at least one sequence")
    size, all_rows, sparse_rows = _ENVELOPE_BYTES, 0, 0
    for each, form in zip(asked, forms, strict=True):
        whole = request.token_ids if form.kind is OutputKind.TOKENS else request.lengths
        rows = len(each.spans) // _SPAN_BYTES or len(whole) // 4
        all_rows += rows
        sparse_rows += rows if form.kind is OutputKind.SPARSE else 0
        size += rows * (_row_bytes(each.vector_type, form) + _FAILED_ROW_BYTES)
    if size > MAX_MESSAGE_BYTES:
        raise BadCall(f"{all_rows} rows would take {size} bytes, an answer has at most {MAX_MESSAGE_BYTES}")
    weights = sparse_rows * card.max_terms * _WEIGHT_BYTES
    if weights > MAX_WEIGHTS_BYTES:
        raise BadCall(f"{sparse_rows} sparse rows would be made of {weights} bytes, at most {MAX_WEIGHTS_BYTES} are")


def _row_bytes(vector_type: pb.VectorType, form: OutputForm) -> int:
    """At most."""
    if form.kind is OutputKind.SPARSE:
        return terms_bytes(form.dimensions)
    return row_bytes(vector_type, form.dimensions)


def _sparse(asked: Asked, vector_type: VectorType, card: ModelCard) -> OutputForm:
    if vector_type is not VectorType.FLOAT32:
        raise BadCall(f"vector_type {vector_type.value} cannot be given: weights of terms are float32")
    terms = asked.dimensions or card.max_terms
    if terms > card.max_terms:
        raise BadCall(f"dimensions {terms} cannot be given: a sparse row has at most {card.max_terms} terms")
    return OutputForm(terms, False, vector_type, OutputKind.SPARSE)


def _dimensions_of(asked: Asked, kind: OutputKind, card: ModelCard) -> int:
    native = card.dimensions_of(kind)
    dimensions = asked.dimensions or native
    allowed = {native, *(card.allowed_dimensions if kind is OutputKind.DENSE else ())}
    if dimensions not in allowed:
        sizes = ", ".join(map(str, sorted(allowed)))
        raise BadCall(f"dimensions {dimensions} cannot be given: this model gives {sizes}")
    return dimensions
