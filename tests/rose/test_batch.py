import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.buckets import bucket_tokens
from tulip_rose.rose.inputs import Group, Inputs
from tulip_rose.rose.lazy import Place
from tulip_rose.sequence import OutputForm, OutputKind, Sequence, Want

FORM = OutputForm(4)
lengths_of = st.lists(st.integers(1, 40), min_size=1, max_size=30)


def make(length: int, *, start: int = 0, spans: tuple[tuple[int, int], ...] | None = None) -> Sequence:
    ids = np.arange(start, start + length, dtype=np.int32)
    return Sequence(ids, (Want(spans or ((0, length),), FORM),), arrival=0.0, deadline=1.0)


def order_of(batch: Batch) -> list[int]:
    """Which of the caller's sequences lies in each slot."""
    return sorted(range(len(batch.places)), key=lambda index: batch.places[index][0].first)


@given(lengths_of)
def test_real_tokens_come_first_and_a_valid_id_fills_what_is_padded(lengths: list[int]) -> None:
    sequences = [make(length, start=100 * index) for index, length in enumerate(lengths)]
    batch = Batch.pack(sequences)
    inputs = Inputs.of(batch)
    ids, tokens = batch.token_ids.tolist(), sum(lengths)
    assert sorted(ids[:tokens]) == sorted(int(i) for s in sequences for i in s.token_ids)
    assert len(ids) == tokens == batch.tokens == inputs.ragged.tokens
    assert batch.longest == inputs.ragged.longest == max(lengths)
    padded = inputs.padded(tokens + 5)
    assert padded.token_ids.tolist() == [*ids, 0, 0, 0, 0, 0]
    assert padded.positions.tolist() == [*batch.positions.tolist(), 0, 0, 0, 0, 0]
    assert padded.ragged is inputs.ragged
    assert inputs.parts[0].spans[-1].end <= tokens


@given(lengths_of)
def test_groups_cover_all_tokens_in_order_and_hold_whole_sequences_of_one_length(lengths: list[int]) -> None:
    sequences = [make(length, start=100 * index) for index, length in enumerate(lengths)]
    batch = Batch.pack(sequences)
    order = order_of(batch)
    at, slot = 0, 0
    for group in Inputs.of(batch).ragged.groups:
        assert group.begin == at
        at = group.end
        for begin in range(group.begin, group.end, group.length):
            expected = sequences[order[slot]].token_ids
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
        for group in Inputs.of(batch).parts[0].spans
        for begin in range(group.begin, group.end, group.length)
    ]
    wanted = [
        sequences[index].token_ids[begin:end].tolist() for index in order_of(batch) for begin, end in spans[index]
    ]
    assert found == wanted


def test_neighbours_of_one_length_are_one_group() -> None:
    batch = Batch.pack([make(7), make(3), make(7), make(3), make(3)])
    inputs = Inputs.of(batch)
    assert inputs.ragged.groups == inputs.parts[0].spans == (Group(0, 3, 3), Group(9, 2, 7))
    assert order_of(batch) == [1, 3, 4, 0, 2]


def test_several_wants_of_one_text_are_parts_of_one_pass() -> None:
    tokens = OutputForm(2, kind=OutputKind.TOKENS)
    ids = [np.arange(size, dtype=np.int32) for size in (5, 2, 3)]
    wants = [
        (Want(((0, 5),), FORM), Want(((1, 2), (2, 3)), tokens)),
        (Want(((0, 2),), FORM),),
        (Want(((0, 3),), tokens),),
    ]
    batch = Batch.pack([Sequence(own, asked, 0.0, 1.0) for own, asked in zip(ids, wants, strict=True)])
    assert [part.form for part in batch.parts] == [FORM, tokens]
    dense, single = (part.bounds.tolist() for part in batch.parts)
    assert dense == [[0, 2], [5, 10]]
    assert single == [[2, 5], [6, 7], [7, 8]]
    assert batch.places == ((Place(0, 1, 1), Place(1, 1, 2)), (Place(0, 0, 1),), (Place(1, 0, 1),))


def test_token_types_go_with_their_tokens_and_are_0_where_none_are_told() -> None:
    plain = make(2)
    pair = replace(make(3), token_types=np.asarray([0, 1, 1], dtype=np.uint8))
    assert Batch.pack([plain]).token_types is None
    types = Inputs.of(Batch.pack([pair, plain])).padded(7).token_types
    assert types is not None
    assert types.tolist() == [0, 0, 0, 1, 1, 0, 0]


@pytest.mark.parametrize("count", [1, 2])
def test_types_that_are_not_one_a_token_are_refused(count: int) -> None:
    wrong = replace(make(3), token_types=np.zeros(2, dtype=np.uint8))
    with pytest.raises(ValueError, match="2 token_types for 3 tokens"):
        Batch.pack([wrong] * count)


@pytest.mark.parametrize("count", [1, 3])
def test_a_batch_goes_when_nobody_has_it(count: int) -> None:
    """Waiting for the next garbage collection, a loaded engine would hold ids and arrays of hundreds."""
    batch = Batch.pack([make(3)] * count)
    assert batch.parts[0].bounds.shape == (count, 2)
    seen = weakref.ref(batch.texts)
    gc.disable()
    try:
        del batch
        assert seen() is None
    finally:
        gc.enable()


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Batch.pack([])


def never(tensor: torch.Tensor) -> torch.Tensor:
    raise AssertionError("copied")


def test_a_batch_that_lies_on_the_device_is_not_copied() -> None:
    inputs = Inputs.of(Batch.pack([make(3)]))
    assert inputs.to(torch.device("cpu"), never) is inputs
