import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tulip_rose.rose.batch import Batch, Group
from tulip_rose.rose.buckets import bucket_tokens
from tulip_rose.sequence import OutputForm, Sequence

FORM = OutputForm(4)
lengths_of = st.lists(st.integers(1, 40), min_size=1, max_size=30)


def make(length: int, *, start: int = 0, spans: tuple[tuple[int, int], ...] | None = None) -> Sequence:
    ids = np.arange(start, start + length, dtype=np.int32)
    return Sequence(ids, spans or ((0, length),), FORM, arrival=0.0, deadline=1.0)


@given(lengths_of)
def test_real_tokens_come_first_and_a_valid_id_fills_what_is_padded(lengths: list[int]) -> None:
    sequences = [make(length, start=100 * index) for index, length in enumerate(lengths)]
    batch = Batch.pack(sequences)
    ids, tokens = batch.token_ids.tolist(), sum(lengths)
    assert sorted(ids[:tokens]) == sorted(int(i) for s in sequences for i in s.token_ids)
    assert len(ids) == tokens == batch.ragged.tokens
    padded = batch.padded(tokens + 5)
    assert padded.token_ids.tolist() == [*ids, 0, 0, 0, 0, 0]
    assert padded.positions.tolist() == [*batch.positions.tolist(), 0, 0, 0, 0, 0]
    assert padded.ragged is batch.ragged
    assert batch.spans[-1].end <= tokens


@given(lengths_of)
def test_groups_cover_all_tokens_in_order_and_hold_whole_sequences_of_one_length(lengths: list[int]) -> None:
    sequences = [make(length, start=100 * index) for index, length in enumerate(lengths)]
    batch = Batch.pack(sequences)
    at, slot = 0, 0
    for group in batch.ragged.groups:
        assert group.begin == at
        at = group.end
        for begin in range(group.begin, group.end, group.length):
            expected = sequences[batch.order[slot]].token_ids
            assert batch.token_ids[begin : begin + group.length].tolist() == expected.tolist()
            assert batch.positions[begin : begin + group.length].tolist() == list(range(group.length))
            slot += 1
    assert at == sum(lengths)
    assert slot == len(sequences)


@given(st.integers(1, 100_000))
def test_a_bucket_holds_its_tokens_with_little_to_spare(tokens: int) -> None:
    bucket = bucket_tokens(tokens)
    assert tokens <= bucket < tokens + max(4, tokens / 4)


def test_buckets_are_few_where_batches_are_packed() -> None:
    assert len({bucket_tokens(tokens) for tokens in range(1, 513)}) == 32


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 10)), min_size=1, max_size=4), min_size=1))
def test_spans_come_in_order_of_slot_and_name_the_tokens_asked_for(asked: list[list[tuple[int, int]]]) -> None:
    spans = [tuple((begin, min(20, begin + size)) for begin, size in own) for own in asked]
    sequences = [make(20, start=100 * index, spans=own) for index, own in enumerate(spans)]
    batch = Batch.pack(sequences)
    found = [
        batch.token_ids[begin : begin + group.length].tolist()
        for group in batch.spans
        for begin in range(group.begin, group.end, group.length)
    ]
    wanted = [
        sequences[index].token_ids[begin:end].tolist() for index in batch.order for begin, end in sequences[index].spans
    ]
    assert found == wanted


def test_neighbours_of_one_length_are_one_group() -> None:
    batch = Batch.pack([make(7), make(3), make(7), make(3), make(3)])
    assert batch.ragged.groups == batch.spans == (Group(0, 3, 3), Group(9, 2, 7))
    assert batch.order == (1, 3, 4, 0, 2)


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Batch.pack([])


def test_a_batch_that_lies_on_the_device_is_not_copied() -> None:
    batch = Batch.pack([make(3)])
    assert batch.to(torch.device("cpu")) is batch
