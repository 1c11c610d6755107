"""Ids, spans and rows as bytes: what goes in comes out, and what does not add up is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trellis_wire.v1.embedding_pb2 import VectorType
from trellis_wire.v1.packing import (
    PackingError,
    pack_ids,
    pack_spans,
    pack_types,
    row_bytes,
    unpack_ids,
    unpack_rows,
    unpack_spans,
    unpack_types,
)

FLOAT32, INT8, BINARY = (VectorType.VECTOR_TYPE_FLOAT32, VectorType.VECTOR_TYPE_INT8, VectorType.VECTOR_TYPE_BINARY)

int32 = st.integers(-(2**31), 2**31 - 1)
ragged = st.lists(st.lists(int32, min_size=1, max_size=20), max_size=20)


@st.composite
def spanned(draw: st.DrawFn) -> tuple[list[int], list[tuple[tuple[int, int], ...]]]:
    """Lengths of sequences, and at least one span within each."""
    lengths = draw(st.lists(st.integers(1, 50), min_size=1, max_size=10))
    spans = []
    for length in lengths:
        cuts = st.tuples(st.integers(0, length - 1), st.integers(1, length)).filter(lambda cut: cut[0] < cut[1])
        spans.append(tuple(draw(st.lists(cuts, min_size=1, max_size=4))))
    return lengths, spans


@given(st.lists(st.lists(st.integers(0, 255), min_size=1, max_size=9), min_size=1, max_size=9))
def test_token_types_come_back_as_they_were(sequences: list[list[int]]) -> None:
    found = unpack_types(pack_types(sequences), [len(types) for types in sequences])
    zeros = [[0] * len(types) for types in sequences]
    assert [
        [0] * len(own) if types is None else types.tolist() for types, own in zip(found, sequences, strict=True)
    ] == (sequences)
    assert (pack_types(sequences) == b"") == (sequences == zeros)


def test_token_types_may_come_as_bytes_or_arrays() -> None:
    assert pack_types([b"\0\1", np.array([1, 0], dtype=np.uint8), [2]]) == b"\0\1\1\0\2"


def test_no_token_types_at_all_are_none_to_tell() -> None:
    assert unpack_types(b"", [3, 4]) == [None, None]


def test_token_types_that_are_not_one_a_token_are_refused() -> None:
    with pytest.raises(PackingError, match="token_types holds 6 types for 7 tokens"):
        unpack_types(bytes(6), [3, 4])


@given(ragged)
def test_ids_come_back_as_they_were(sequences: list[list[int]]) -> None:
    assert [ids.tolist() for ids in unpack_ids(*pack_ids(sequences))] == sequences


@given(ragged)
def test_ids_are_little_endian_int32_whatever_the_machine(sequences: list[list[int]]) -> None:
    token_ids, lengths = pack_ids(sequences)
    flat = [number for ids in sequences for number in ids]
    assert token_ids == b"".join(number.to_bytes(4, "little", signed=True) for number in flat)
    assert lengths == b"".join(len(ids).to_bytes(4, "little") for ids in sequences)


@given(ragged.filter(bool))
def test_unpacked_ids_cannot_be_written_to(sequences: list[list[int]]) -> None:
    for ids in unpack_ids(*pack_ids(sequences)):
        assert not ids.flags.writeable


@given(ragged.filter(bool), st.integers(1, 3))
def test_ids_with_a_broken_last_number_are_refused(sequences: list[list[int]], cut: int) -> None:
    token_ids, lengths = pack_ids(sequences)
    with pytest.raises(PackingError, match="token_ids holds"):
        unpack_ids(token_ids[:-cut], lengths)
    with pytest.raises(PackingError, match="lengths holds"):
        unpack_ids(token_ids, lengths[:-cut])


@given(ragged.filter(bool), st.integers(1, 10))
def test_lengths_that_do_not_add_up_to_the_ids_are_refused(sequences: list[list[int]], more: int) -> None:
    token_ids, lengths = pack_ids(sequences)
    with pytest.raises(PackingError, match="lengths add up to"):
        unpack_ids(token_ids + bytes(4 * more), lengths)
    with pytest.raises(PackingError, match="lengths add up to"):
        unpack_ids(token_ids[:-4], lengths)


@pytest.mark.parametrize("length", [0, -1, -(2**31)])
def test_a_length_below_one_is_refused_by_its_index(length: int) -> None:
    lengths = np.array([1, length], dtype="<i4").tobytes()
    with pytest.raises(PackingError, match=rf"lengths\[1\] is {length}"):
        unpack_ids(bytes(4), lengths)


def test_lengths_whose_sum_overflows_int32_are_refused() -> None:
    lengths = np.array([2**31 - 1, 2**31 - 1, 3], dtype="<i4").tobytes()
    with pytest.raises(PackingError, match="add up to 4294967297"):
        unpack_ids(bytes(4), lengths)


@given(spanned())
def test_spans_come_back_as_they_were(case: tuple[list[int], list[tuple[tuple[int, int], ...]]]) -> None:
    lengths, spans = case
    assert unpack_spans(pack_spans(spans), lengths) == spans


@given(st.lists(st.integers(1, 50), max_size=10))
def test_no_spans_mean_one_whole_span_a_sequence(lengths: list[int]) -> None:
    assert unpack_spans(b"", lengths) == [((0, length),) for length in lengths]


@pytest.mark.parametrize(
    ("triples", "said"),
    [
        ([0, 0, 6], "not in sequence 0 of 5"),
        ([0, 3, 3], "not in sequence 0"),
        ([0, -1, 3], "not in sequence 0"),
        ([0, 4, 2], "not in sequence 0"),
        ([2, 0, 1], "names sequence 2"),
        ([-1, 0, 1], "names sequence -1"),
        ([1, 0, 1, 0, 0, 1], "names sequence 0"),
        ([0, 0, 1], "sequence 1 has no span"),
        ([0, 0], "not triples"),
    ],
)
def test_spans_outside_out_of_order_or_missing_are_refused(triples: list[int], said: str) -> None:
    with pytest.raises(PackingError, match=said):
        unpack_spans(np.array(triples, dtype="<i4").tobytes(), [5, 5])


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_any_bytes_are_either_ids_or_refused(token_ids: bytes, lengths: bytes) -> None:
    try:
        sequences = unpack_ids(token_ids, lengths)
    except PackingError:
        return
    assert pack_ids(sequences) == (token_ids, lengths)


@given(st.integers(0, 8), st.integers(1, 70), st.sampled_from([FLOAT32, INT8, BINARY]), st.data())
def test_rows_come_back_as_they_were(count: int, dimensions: int, kind: VectorType, data: st.DataObject) -> None:
    size = count * row_bytes(kind, dimensions)
    packed = data.draw(st.binary(min_size=size, max_size=size))
    rows = unpack_rows(packed, count, kind, dimensions)
    assert rows.shape[0] == count
    assert rows.tobytes() == packed


@pytest.mark.parametrize(("kind", "size"), [(FLOAT32, 1536), (INT8, 384), (BINARY, 48)])
def test_a_row_has_the_size_of_its_type(kind: VectorType, size: int) -> None:
    assert row_bytes(kind, 384) == size


def test_binary_rows_are_whole_bytes() -> None:
    assert [row_bytes(BINARY, dimensions) for dimensions in (1, 8, 9)] == [1, 1, 2]


@pytest.mark.parametrize("off_by", [-1, 1, 4])
def test_rows_that_are_not_exactly_those_promised_are_refused(off_by: int) -> None:
    with pytest.raises(PackingError, match="2 rows of 16 bytes were promised"):
        unpack_rows(bytes(32 + off_by), 2, FLOAT32, 4)


@pytest.mark.parametrize("kind", [VectorType.VECTOR_TYPE_UNSPECIFIED, 9])
def test_an_unknown_vector_type_is_refused(kind: VectorType) -> None:
    with pytest.raises(PackingError, match="is not one of"):
        row_bytes(kind, 4)
