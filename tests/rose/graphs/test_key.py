import pytest
from hypothesis import given
from hypothesis import strategies as st
from tulip_rose.rose.graphs.key import Buckets

EDGES = [1, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 1279, 1280, 1281, 16383, 16384]
buckets_of = st.builds(
    lambda multiple, slots, most: Buckets(multiple, tuple(sorted(slots)), most),
    st.integers(1, 128),
    st.sets(st.integers(1, 600), min_size=1, max_size=5).filter(lambda slots: slots != {1}),
    st.integers(1, 20_000),
)


@given(buckets_of, st.integers(1, 20_000), st.integers(1, 600))
def test_a_batch_fits_with_a_slot_to_spare_for_its_pads_or_not_at_all(
    buckets: Buckets, tokens: int, sequences: int
) -> None:
    found = buckets.fit(tokens, sequences)
    if found is None:
        padded = buckets.rows(tokens) > tokens
        assert tokens > buckets.most_tokens or sequences + padded > buckets.slots[-1]
        return
    rows, slots = found
    assert tokens <= rows <= buckets.most_rows
    assert rows - tokens < 4 * buckets.multiple
    assert slots in buckets.slots
    assert sequences + (rows > tokens) <= slots
    assert all(fewer < sequences + (rows > tokens) for fewer in buckets.slots if fewer < slots)


@given(buckets_of, st.integers(1, 20_000))
def test_what_was_padded_is_not_padded_again(buckets: Buckets, tokens: int) -> None:
    assert buckets.rows(buckets.rows(tokens)) == buckets.rows(tokens)
    assert buckets.rows(tokens) <= buckets.rows(tokens + 1)


@pytest.mark.parametrize("tokens", EDGES)
def test_rows_are_multiples_of_64_up_to_1024_and_of_256_beyond(tokens: int) -> None:
    rows = Buckets().rows(tokens)
    step = 64 if tokens <= 1024 else 256
    assert tokens <= rows < tokens + step
    assert rows % step == 0


def test_slots_are_full_only_where_nothing_is_padded() -> None:
    assert Buckets().fit(64, 2) == (64, 2)
    assert Buckets().fit(63, 2) == (64, 8)
    assert Buckets().fit(1024, 512) == (1024, 512)
    assert Buckets().fit(1023, 512) is None


def test_the_default_keys_are_tens_of_sizes_and_five_counts_of_slots() -> None:
    assert len({Buckets().rows(tokens) for tokens in range(1, 16385)}) == 76


@pytest.mark.parametrize("slots", [(), (0, 2), (8, 2), (2, 2)])
def test_slots_that_make_no_sense_are_refused(slots: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"do not ascend|above 0"):
        Buckets(slots=slots)


def test_slots_that_no_text_and_its_pads_fit_in_are_refused() -> None:
    with pytest.raises(ValueError, match=r"slots \(1,\): one of 2 or more is needed"):
        Buckets(slots=(1,))
    assert Buckets(slots=(2,)).fit(1, 1) == (64, 2)


@given(buckets_of)
def test_pads_are_at_most_what_is_said_and_may_be_as_many(buckets: Buckets) -> None:
    rows, most = {buckets.rows(tokens) for tokens in range(1, min(buckets.most_tokens, 3000) + 1)}, buckets.most_pads
    for each in rows:
        assert buckets.rows(each - most(each)) == each
        assert each == most(each) + 1 or buckets.rows(each - most(each) - 1) < each
    if buckets.most_tokens <= 3000:
        assert buckets.sizes == len(rows) * len(buckets.slots)
