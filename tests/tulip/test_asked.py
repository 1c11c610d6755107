"""Rows of every kind are asked for within what the card tells, or refused before anything is computed."""

from dataclasses import replace

import pytest
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import pack_ids, pack_spans, pack_unseen
from tulip_rose.rose.card import ModelCard
from tulip_rose.sequence import OutputForm, OutputKind, VectorType, Want
from tulip_rose.tulip.asked import MAX_MESSAGE_BYTES, MAX_WEIGHTS_BYTES
from tulip_rose.tulip.errors import BadCall
from tulip_rose.tulip.wire import sequences_of

PLAIN = ModelCard("ToyModel", "float32", "cpu", "none", 4, (2,), 8, 1000, "mean", True, "digest-1")
KINDS = (OutputKind.DENSE, OutputKind.SPARSE, OutputKind.TOKENS)
CARD = replace(PLAIN, outputs=KINDS, token_dimensions=3, max_terms=30_000)
SPARSE, TOKENS = pb.OUTPUT_KIND_SPARSE, pb.OUTPUT_KIND_TOKENS


def request_of(ids: list[list[int]], **more: object) -> pb.EmbedRequest:
    token_ids, lengths = pack_ids(ids)
    return pb.EmbedRequest(token_ids=token_ids, lengths=lengths, **{"vector_type": pb.VECTOR_TYPE_FLOAT32, **more})


@pytest.mark.parametrize(("asked", "terms"), [(0, 30_000), (1, 1), (64, 64), (30_000, 30_000)])
def test_a_sparse_row_has_as_many_terms_as_asked_and_is_never_normalised(asked: int, terms: int) -> None:
    request = request_of([[1, 2]], kind=SPARSE, dimensions=asked, normalize=True)
    [sequence] = sequences_of(request, CARD, 0.0, 1.0)
    form = OutputForm(terms, False, VectorType.FLOAT32, OutputKind.SPARSE)
    assert sequence.wants == (Want(((0, 2),), form),)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"kind": SPARSE, "vector_type": pb.VECTOR_TYPE_INT8}, "vector_type int8 cannot be given: weights of terms"),
        ({"kind": SPARSE, "dimensions": 30_001}, "dimensions 30001 cannot be given: a sparse row has at most 30000"),
        ({"kind": TOKENS, "spans": pack_spans([[(0, 1), (1, 3)]])}, r"span \[1, 3\) is not one token"),
        ({"kind": TOKENS, "dimensions": 2}, "dimensions 2 cannot be given: this model gives 3"),
        ({"unseen": pack_unseen([3])}, r"unseen\[0\] is 3: the sequence has 3 tokens, at least one is seen"),
        ({"unseen": pack_unseen([1, 1])}, "unseen holds 2 numbers for 1 sequences"),
    ],
)
def test_what_the_model_cannot_give_is_refused(more: dict[str, object], words: str) -> None:
    with pytest.raises(BadCall, match=words):
        sequences_of(request_of([[1, 2, 3]], **more), CARD, 0.0, 1.0)


@pytest.mark.parametrize(
    ("kind", "ids"),
    [(SPARSE, [[1]] * 400), (TOKENS, [[1] * 8] * 800_000)],
    ids=["sparse rows of all terms", "vectors of tokens"],
)
def test_an_answer_that_could_be_too_large_is_refused_before_it_is_made(kind: int, ids: list[list[int]]) -> None:
    with pytest.raises(BadCall, match=rf"would take \d+ bytes, an answer has at most {MAX_MESSAGE_BYTES}"):
        sequences_of(request_of(ids, kind=kind), CARD, 0.0, 1.0)


def test_the_same_rows_with_fewer_terms_are_not_too_large() -> None:
    assert len(sequences_of(request_of([[1]] * 400, kind=SPARSE, dimensions=100), CARD, 0.0, 1.0)) == 400


def test_sparse_rows_of_few_terms_that_would_be_made_of_gigabytes_are_refused() -> None:
    most = MAX_WEIGHTS_BYTES // (4 * CARD.max_terms)
    assert len(sequences_of(request_of([[1]] * most, kind=SPARSE, dimensions=1), CARD, 0.0, 1.0)) == most
    with pytest.raises(BadCall, match=f"{most + 1} sparse rows would be made of"):
        sequences_of(request_of([[1]] * (most + 1), kind=SPARSE, dimensions=1), CARD, 0.0, 1.0)


def test_all_outputs_of_a_pass_are_counted_together() -> None:
    half = MAX_MESSAGE_BYTES // 2 // (4 + 8 * CARD.max_terms)
    sequences_of(request_of([[1]] * half, kind=SPARSE), CARD, 0.0, 1.0)
    also = [pb.Output(kind=SPARSE, vector_type=pb.VECTOR_TYPE_FLOAT32)] * 3
    with pytest.raises(BadCall, match="rows would take"):
        sequences_of(request_of([[1]] * half, also=also), CARD, 0.0, 1.0)


def test_unseen_tokens_of_each_sequence_arrive_with_it() -> None:
    request = request_of([[1, 2, 3], [4]], unseen=pack_unseen([2, 0]))
    assert [sequence.unseen for sequence in sequences_of(request, CARD, 0.0, 1.0)] == [2, 0]
    assert pack_unseen([0, 0]) == b""
