"""Requests become sequences or a clear refusal, and settled sequences become rows in the order asked."""

import contextlib
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import pack_ids, pack_spans, unpack_rows
from tulip_rose.rose.card import ModelCard
from tulip_rose.sequence import Embedded, Output, OutputForm, OutputKind, StepTimes, VectorType, Want
from tulip_rose.tulip.errors import BadCall, WrongDigest
from tulip_rose.tulip.wire import response_of, sequences_of

CARD = ModelCard("ToyModel", "float32", "cpu", "none", 4, (2,), 8, 1000, "mean", True, "digest-1")
MANY = replace(CARD, outputs=(OutputKind.DENSE, OutputKind.TOKENS), token_dimensions=3)
NO_TIMES = StepTimes(0.0, 0.0, 0.0, 0.0, 0.0)


class Alone(tuple[Output, ...]):
    """The rows of a batch of one sequence."""

    def outputs_of(self, sequence: int) -> tuple[Output, ...]:
        assert sequence == 0
        return self


def embedded(*outputs: Output, step: StepTimes = NO_TIMES) -> Embedded:
    return Embedded(Alone(outputs), step)


texts = st.lists(st.lists(st.integers(0, 999), min_size=1, max_size=8), min_size=1, max_size=20)


def request_of(ids: list[list[int]], **more: object) -> pb.EmbedRequest:
    token_ids, lengths = pack_ids(ids)
    return pb.EmbedRequest(token_ids=token_ids, lengths=lengths, **{"vector_type": pb.VECTOR_TYPE_FLOAT32, **more})


@given(texts)
def test_every_sequence_arrives_with_its_ids_in_order(ids: list[list[int]]) -> None:
    sequences = sequences_of(request_of(ids), CARD, 1.0, 2.0)
    assert [each.token_ids.tolist() for each in sequences] == ids
    assert all(each.wants == (Want(((0, each.tokens),), OutputForm(4)),) for each in sequences)
    assert {(each.arrival, each.deadline) for each in sequences} == {(1.0, 2.0)}


@given(texts, st.data())
def test_rows_come_back_in_the_order_asked_and_failed_rows_are_named(ids: list[list[int]], data: st.DataObject) -> None:
    spans = [data.draw(st.sampled_from([((0, len(own)),), ((0, 1), (len(own) - 1, len(own)))])) for own in ids]
    sequences = sequences_of(request_of(ids, spans=pack_spans(spans)), CARD, 0.0, 1.0)
    number, failed = 0, []
    for each in sequences:
        rows = np.full((len(each.wants[0].spans), 4), range(number, number + 4), dtype="<f4")
        own_failed = data.draw(st.sets(st.integers(0, len(each.wants[0].spans) - 1)))
        failed += [number + row for row in sorted(own_failed)]
        rows[:, 0] = range(number, number + len(each.wants[0].spans))
        each.outcome = embedded(Output(rows.tobytes(), tuple(sorted(own_failed))))
        number += len(each.wants[0].spans)
    response = response_of(sequences, CARD, 5)
    rows = unpack_rows(response.rows, number, response.vector_type, response.dimensions)
    assert rows[:, 0].tolist() == list(range(number))
    assert list(response.failed_rows) == failed
    assert (response.queued_tokens, response.model_digest) == (5, "digest-1")


def test_a_priority_reaches_every_sequence_and_one_that_is_none_is_refused() -> None:
    assert [each.priority for each in sequences_of(request_of([[1], [2]], priority=7), CARD, 0.0, 1.0)] == [7, 7]
    with pytest.raises(BadCall, match="priority 1000 is not one of 0 to 999"):
        sequences_of(request_of([[1]], priority=1000), CARD, 0.0, 1.0)


@pytest.mark.parametrize(("types", "allowed"), [(0, 255), (1, 255), (2, 1), (3, 2)])
def test_a_type_that_the_model_does_not_have_is_refused_before_it_reaches_a_batch(types: int, allowed: int) -> None:
    card = replace(CARD, token_types=types)
    [sequence] = sequences_of(request_of([[1, 2, 3]], token_types=bytes([0, allowed, 0])), card, 0.0, 1.0)
    assert sequence.token_types is not None
    assert sequence.token_types.tolist() == [0, allowed, 0]
    if allowed < 255:
        with pytest.raises(BadCall, match=f"token_types has type {allowed + 1}: this model has types 0 to {allowed}"):
            sequences_of(request_of([[1, 2, 3]], token_types=bytes([0, allowed + 1, 0])), card, 0.0, 1.0)


def test_timings_are_those_of_the_slowest_sequence() -> None:
    sequences = sequences_of(request_of([[1], [2]]), CARD, 0.998, 2.0)
    sequences[1].arrival = 1.997
    first, second = StepTimes(1.0, 1.007, 1.007, 1.008, 1.010), StepTimes(2.0, 2.001, 2.004, 2.008, 2.009)
    sequences[0].outcome = embedded(Output(bytes(16), ()), step=first)
    sequences[1].outcome = embedded(Output(bytes(16), ()), step=second)
    response = response_of(sequences, CARD, 0)
    stages = (response.queue_ms, response.launch_ms, response.forward_ms, response.settle_ms)
    assert stages == pytest.approx((3.0, 7.0, 4.0, 2.0))


@pytest.mark.parametrize(
    ("fields", "form"),
    [
        ({}, OutputForm(4, True, VectorType.FLOAT32)),
        ({"dimensions": 4}, OutputForm(4, True, VectorType.FLOAT32)),
        ({"dimensions": 2, "normalize": False}, OutputForm(2, False, VectorType.FLOAT32)),
        ({"vector_type": pb.VECTOR_TYPE_INT8}, OutputForm(4, True, VectorType.INT8)),
        ({"vector_type": pb.VECTOR_TYPE_BINARY}, OutputForm(4, True, VectorType.BINARY)),
    ],
)
def test_the_output_form_is_what_was_asked_or_what_the_model_says(fields: dict[str, object], form: OutputForm) -> None:
    assert sequences_of(request_of([[1]], **fields), CARD, 0.0, 1.0)[0].wants[0].form == form


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (request_of([]), "lengths is empty"),
        (request_of([[1, 2], [3, 1000, 4]]), "token 1 of sequence 1 is 1000: ids are 0 to 999"),
        (request_of([[1, -2]]), "token 1 of sequence 0 is -2"),
        (request_of([[1], [1] * 9]), "sequence 1 has 9 tokens, this model takes at most 8"),
        (request_of([[1]], dimensions=3), "dimensions 3 cannot be given: this model gives 2, 4"),
        (request_of([[1]], vector_type=0), "vector_type 0 is not one of"),
        (request_of([[1]], vector_type=77), "vector_type 77 is not one of"),
        (request_of([[1]], spans=b"12345"), "not a whole number of int32"),
        (request_of([[1]], spans=pack_spans([[(0, 2)]])), r"span \[0, 2\) is not in sequence 0"),
        (request_of([[1]], kind=pb.OUTPUT_KIND_TOKENS), "kind tokens cannot be given: this model gives dense"),
        (request_of([[1]], kind=9), "kind 9 cannot be given"),
        (request_of([[1]], also=[pb.Output(vector_type=1, dimensions=3)]), "dimensions 3 cannot be given"),
        (request_of([[1]], also=[pb.Output()]), "vector_type 0 is not one of"),
        (request_of([[1, 2]], token_types=bytes(1)), "token_types holds 1 types for 2 tokens"),
        (pb.EmbedRequest(token_ids=bytes(8), lengths=bytes(4), vector_type=1), "at least one token"),
        (pb.EmbedRequest(token_ids=bytes(8), lengths=b"\1\0\0\0", vector_type=1), "add up to 1"),
        (pb.EmbedRequest(token_ids=bytes(8), lengths=b"\1\0\0", vector_type=1), "lengths"),
    ],
)
def test_a_bad_request_is_refused_with_the_field_and_the_number(request_: pb.EmbedRequest, text: str) -> None:
    with pytest.raises(BadCall, match=text):
        sequences_of(request_, CARD, 0.0, 1.0)


def test_token_types_arrive_with_their_sequence() -> None:
    first, second = sequences_of(request_of([[1, 2], [3]], token_types=bytes([0, 1, 1])), CARD, 0.0, 1.0)
    assert (first.token_types.tolist(), second.token_types.tolist()) == ([0, 1], [1])


def test_several_outputs_of_one_pass_are_wants_of_each_sequence_and_come_back_in_their_order() -> None:
    also = [pb.Output(kind=pb.OUTPUT_KIND_TOKENS, vector_type=pb.VECTOR_TYPE_INT8, normalize=False)]
    sequences = sequences_of(request_of([[1, 2], [3]], also=also), MANY, 0.0, 1.0)
    tokens = OutputForm(3, False, VectorType.INT8, OutputKind.TOKENS)
    assert [each.wants for each in sequences] == [
        (Want(((0, 2),), OutputForm(4)), Want(((0, 1), (1, 2)), tokens)),
        (Want(((0, 1),), OutputForm(4)), Want(((0, 1),), tokens)),
    ]
    sequences[0].outcome = embedded(Output(b"a" * 16, ()), Output(b"b" * 6, (1,)))
    sequences[1].outcome = embedded(Output(b"c" * 16, (0,)), Output(b"d" * 3, (0,)))
    response = response_of(sequences, MANY, 0)
    assert (response.rows, list(response.failed_rows)) == (b"a" * 16 + b"c" * 16, [1])
    [more] = response.also
    assert (more.rows, list(more.failed_rows)) == (b"b" * 6 + b"d" * 3, [1, 2])
    assert (more.dimensions, more.vector_type) == (3, pb.VECTOR_TYPE_INT8)


def test_another_models_digest_is_refused_before_anything_else() -> None:
    with pytest.raises(WrongDigest, match="digest-1"):
        sequences_of(request_of([[9999]], model_digest="digest-2"), CARD, 0.0, 1.0)


@pytest.mark.parametrize("digest", ["", "digest-1", "digest-1+c0"])
def test_a_call_may_name_the_contents_with_the_digest_and_is_answered_in_its_words(digest: str) -> None:
    sequences = sequences_of(request_of([[1]], model_digest=digest), CARD, 0.0, 1.0, "c0")
    sequences[0].outcome = embedded(Output(bytes(16), ()))
    assert response_of(sequences, CARD, 0, digest).model_digest == (digest or "digest-1")


@pytest.mark.parametrize("digest", ["digest-1+c1", "digest-1+", "digest-2+c0", "c0"])
def test_a_call_for_other_contents_is_refused(digest: str) -> None:
    with pytest.raises(WrongDigest, match=re.escape(f"serves digest digest-1+c0, the call is for {digest}")):
        sequences_of(request_of([[1]], model_digest=digest), CARD, 0.0, 1.0, "c0")


def test_a_small_request_cannot_ask_for_an_answer_larger_than_a_message() -> None:
    many = pack_spans([[(0, 1)] * 4_000_000])
    with pytest.raises(BadCall, match="4000000 rows would take"):
        sequences_of(request_of([[1]], spans=many), CARD, 0.0, 1.0)


@given(st.binary(max_size=64), st.binary(max_size=64), st.binary(max_size=64))
def test_arbitrary_bytes_are_sequences_or_a_bad_call_and_nothing_else(ids: bytes, lengths: bytes, spans: bytes) -> None:
    request = pb.EmbedRequest(token_ids=ids, lengths=lengths, spans=spans, vector_type=pb.VECTOR_TYPE_FLOAT32)
    with contextlib.suppress(BadCall):
        assert sequences_of(request, CARD, 0.0, 1.0)
