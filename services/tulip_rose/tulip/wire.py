"""pb → [Sequence] and [Sequence] → pb. With `asked` the only file that knows both the messages and the sequence.

Everything in a request is checked here, before a sequence exists. Knows neither the queue nor the clock.
"""

from collections.abc import Sequence as Run
from typing import cast

import numpy as np
from trellis_wire.contents import full_digest
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import Ids, PackingError, unpack_ids, unpack_types, unpack_unseen

from tulip_rose.rose.card import ModelCard
from tulip_rose.sequence import Embedded, Output, Sequence, Want
from tulip_rose.tulip.asked import WIRE_TYPES, Asked, check_answer_size, form_of, spans_of
from tulip_rose.tulip.errors import BadCall, WrongDigest

MAX_PRIORITY = 999
"""The last level. Each has a line of its own, so that there must be an end to them."""


def sequences_of(
    request: pb.EmbedRequest, card: ModelCard, arrival: float, deadline: float, contents: str = ""
) -> list[Sequence]:
    """Read a request, with every check that the model's card allows.

    Args:
        request: as it came.
        card: of the model served.
        arrival: `time.monotonic()` seconds.
        deadline: `time.monotonic()` seconds.
        contents: of the model's folder; a request may name them after the digest.

    Raises:
        BadCall: names the field and the number that is wrong.
        WrongDigest: the request is meant for another model.
    """
    full = full_digest(card.model_digest, contents)
    if request.model_digest not in ("", card.model_digest, full):
        raise WrongDigest(f"this engine serves digest {full}, the call is for {request.model_digest}")
    asked: list[Asked] = [request, *request.also]
    if request.priority > MAX_PRIORITY:
        raise BadCall(f"priority {request.priority} is not one of 0 to {MAX_PRIORITY}")
    forms = [form_of(each, card) for each in asked]
    check_answer_size(request, asked, forms, card)
    try:
        ids = unpack_ids(request.token_ids, request.lengths)
        types = unpack_types(request.token_types, [own.size for own in ids])
        unseen = unpack_unseen(request.unseen, [own.size for own in ids])
        spans = [spans_of(each, ids) for each in asked]
    except PackingError as error:
        raise BadCall(str(error)) from None
    _check_ids(request, ids, card)
    return [
        Sequence(own, tuple(map(Want, own_spans, forms)), arrival, deadline, own_types, own_unseen, request.priority)
        for own, own_types, own_unseen, *own_spans in zip(ids, types, unseen, *spans, strict=True)
    ]


def response_of(
    sequences: Run[Sequence], card: ModelCard, queued_tokens: int, asked_digest: str = ""
) -> pb.EmbedResponse:
    """Join the rows of settled sequences, all `Embedded`, in the order they were asked for.

    The answer has the digest in the words of the request, which `sequences_of` has checked.
    """
    steps = {cast(Embedded, sequence.outcome).step for sequence in sequences}
    outputs = [sequence.outputs for sequence in sequences]
    first, *also = [_rows_of(sequences, outputs, want) for want in range(len(sequences[0].wants))]
    return pb.EmbedResponse(
        rows=first.rows,
        dimensions=first.dimensions,
        vector_type=first.vector_type,
        failed_rows=first.failed_rows,
        queue_ms=1000 * max(sequence.queue_s for sequence in sequences),
        launch_ms=1000 * max(step.launch_s for step in steps),
        forward_ms=1000 * max(step.forward_s for step in steps),
        settle_ms=1000 * max(step.settle_s for step in steps),
        queued_tokens=queued_tokens,
        model_digest=asked_digest or card.model_digest,
        also=also,
    )


def _rows_of(sequences: Run[Sequence], outputs: Run[tuple[Output, ...]], want: int) -> pb.OutputRows:
    form = sequences[0].wants[want].form
    return pb.OutputRows(
        rows=b"".join([own[want].rows for own in outputs]),
        dimensions=form.dimensions,
        vector_type=WIRE_TYPES[form.vector_type],
        failed_rows=_failed_rows(sequences, outputs, want),
    )


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


def _failed_rows(sequences: Run[Sequence], outputs: Run[tuple[Output, ...]], want: int) -> list[int]:
    failed: list[int] = []
    first = 0
    for sequence, own in zip(sequences, outputs, strict=True):
        if own[want].failed_rows:
            failed += [first + row for row in own[want].failed_rows]
        first += len(sequence.wants[want].spans)
    return failed
