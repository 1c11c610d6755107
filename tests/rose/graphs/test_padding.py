import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.graphs.key import Buckets, Key
from tulip_rose.rose.graphs.layout import given_bytes
from tulip_rose.rose.graphs.padding import Fields
from tulip_rose.rose.graphs.sheet import Sheet
from tulip_rose.rose.native import library
from tulip_rose.sequence import OutputForm, Sequence, Want

FORM = OutputForm(4)
BUCKETS = Buckets(16, (2, 8, 32), 512)
POISON = -99
both_ways = pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "compiled"])
texts = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 3)), min_size=1, max_size=16)


def batch_of(lengths: list[tuple[int, int]]) -> Batch:
    """Texts of so many tokens, of which some at the end are unseen."""
    rng = np.random.default_rng(5)
    return Batch.pack(
        [
            Sequence(
                rng.integers(1, 90, length).astype(np.int32),
                (Want(((length // 2, length),), FORM),),
                arrival=0.0,
                deadline=1.0,
                token_types=rng.integers(0, 2, length).astype(np.uint8) if length % 2 else None,
                unseen=min(unseen, length - 1),
            )
            for length, unseen in lengths
        ]
    )


def key_of(batch: Batch) -> Key:
    found = BUCKETS.fit(batch.tokens, len(batch.places))
    assert found is not None
    return Key(*found, FORM)


def laid(batch: Batch, key: Key, compiled: bool, *, pooled: bool = True, typed: bool = True) -> Fields[np.ndarray]:
    """In buffers full of what no step may ever read."""
    memory = np.zeros(given_bytes(key), np.uint8)
    fields = poisoned(memory, key)
    assert library.layout() is not None
    with pytest.MonkeyPatch.context() as patched:
        if not compiled:
            patched.setattr(library, "layout", lambda: None)
        Sheet(memory, key, pooled=pooled, typed=typed).write(batch)
    return fields


def poisoned(memory: np.ndarray, key: Key) -> Fields[np.ndarray]:
    fields = Fields.of(memory, key)
    for name in Fields.__slots__:
        getattr(fields, name)[:] = POISON
    return fields


@both_ways
@given(texts)
def test_offsets_begin_with_the_batch_and_end_with_all_rows_and_every_row_has_an_owner(
    compiled: bool, lengths: list[tuple[int, int]]
) -> None:
    batch = batch_of(lengths)
    key = key_of(batch)
    offsets = laid(batch, key, compiled).cu_seqlens
    count = len(lengths)
    assert offsets.shape == (key.slots + 1,)
    assert offsets[0] == 0
    assert offsets[-1] == key.tokens
    assert (np.diff(offsets) >= 0).all()
    assert offsets[: count + 1].tolist() == batch.starts.tolist()
    # The pads are one sequence; behind it there is nothing.
    assert (
        np.diff(offsets[count:]).tolist()
        == [key.tokens - batch.tokens, *[0] * (key.slots - count - 1)][: key.slots - count]
    )


@both_ways
@given(texts)
def test_everything_that_a_step_may_read_is_written_and_valid(compiled: bool, lengths: list[tuple[int, int]]) -> None:
    batch = batch_of(lengths)
    key, tokens = key_of(batch), batch.tokens
    fields = laid(batch, key, compiled)
    for name in Fields.__slots__:
        assert (getattr(fields, name) != POISON).all(), name
    assert fields.token_ids[:tokens].tolist() == batch.token_ids.tolist()
    assert fields.positions[:tokens].tolist() == batch.positions.tolist()
    types = [0] * tokens if batch.token_types is None else batch.token_types.tolist()
    assert fields.token_types[:tokens].tolist() == types
    for pads in (fields.token_ids[tokens:], fields.positions[tokens:], fields.token_types[tokens:]):
        assert not pads.any()
    rows = batch.parts[0].bounds.shape[0]
    assert fields.bounds[:rows].tolist() == batch.parts[0].bounds.tolist()
    assert fields.bounds[rows:].tolist() == [[0, 1]] * (key.slots - rows)


@both_ways
@given(texts)
def test_of_each_sequence_as_many_tokens_are_seen_as_it_says_and_of_pads_all(
    compiled: bool, lengths: list[tuple[int, int]]
) -> None:
    batch = batch_of(lengths)
    key = key_of(batch)
    fields = laid(batch, key, compiled)
    seen, own = fields.seen, np.diff(fields.cu_seqlens)
    expected = sorted((length, -min(unseen, length - 1)) for length, unseen in lengths)
    found = [(int(length), int(count - length)) for length, count in zip(own, seen, strict=True)][: len(lengths)]
    assert sorted(found) == expected
    assert (seen[len(lengths) :] == own[len(lengths) :]).all()


@both_ways
def test_without_a_part_to_pool_bounds_are_valid_all_the_same(compiled: bool) -> None:
    batch = batch_of([(5, 0), (3, 0)])
    fields = laid(batch, Key(16, 8), compiled, pooled=False)
    assert fields.bounds.tolist() == [[0, 1]] * 8


@given(st.integers(1, 2000), st.integers(1, 600))
def test_fields_share_no_byte_begin_aligned_and_types_come_last(tokens: int, slots: int) -> None:
    key = Key(tokens, slots)
    buffer = np.zeros(given_bytes(key), np.uint8)
    fields = Fields.of(buffer, key)
    for name in Fields.__slots__:
        getattr(fields, name)[:] = -1
    sizes = {name: getattr(fields, name).nbytes for name in Fields.__slots__}
    assert np.count_nonzero(buffer) == sum(sizes.values())
    assert (fields.token_ids.ctypes.data - buffer.ctypes.data) % 16 == 0
    assert given_bytes(key, typed=False) == given_bytes(key) - sizes["token_types"]
    fields.token_types[:] = 0
    assert not buffer[given_bytes(key, typed=False) :].any()


@both_ways
def test_types_that_no_model_reads_are_not_written(compiled: bool) -> None:
    batch = batch_of([(5, 0), (3, 0)])
    fields = laid(batch, Key(16, 8, FORM), compiled, typed=False)
    assert (fields.token_types == POISON).all()
    assert fields.token_ids[:8].tolist() == batch.token_ids.tolist()


@given(texts, st.booleans(), st.booleans())
def test_compiled_code_writes_what_numpy_does_and_nothing_behind_it(
    lengths: list[tuple[int, int]], pooled: bool, typed: bool
) -> None:
    batch = batch_of(lengths)
    key = key_of(batch)
    expected = laid(batch, key, False, pooled=pooled, typed=typed)
    memory = np.full(given_bytes(key) + 64, 0x5A, np.uint8)
    poisoned(memory, key)
    sheet = Sheet(memory, key, pooled=pooled, typed=typed)
    sheet.write(batch)
    for name in Fields.__slots__:
        assert getattr(sheet.fields, name).tolist() == getattr(expected, name).tolist(), name
    assert (memory[given_bytes(key) :] == 0x5A).all()


@both_ways
@pytest.mark.parametrize("key", [Key(8, 3, FORM), Key(9, 1, FORM), Key(16, 2, FORM)])
def test_what_does_not_fit_is_refused_and_nothing_is_written(
    key: Key, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(library, "layout", lambda: None)
    batch = batch_of([(6, 0), (3, 0)])
    memory = np.full(given_bytes(key), 0x5A, np.uint8)
    sheet = Sheet(memory, key, pooled=True, typed=True)
    with pytest.raises(ValueError, match=f"2 sequences of 9 tokens do not fit {key.size}"):
        sheet.write(batch)
    assert (memory == 0x5A).all()


@given(texts)
def test_texts_of_several_rows_have_each_of_their_spans(lengths: list[tuple[int, int]]) -> None:
    rng = np.random.default_rng(6)
    batch = Batch.pack(
        [
            Sequence(
                rng.integers(1, 90, length).astype(np.int32), (Want(((0, 1), (length - 1, length)), FORM),), 0.0, 1.0
            )
            for length, _ in lengths[:8]
        ]
    )
    key = Key(BUCKETS.rows(batch.tokens), 32, FORM)
    memory = np.zeros(given_bytes(key), np.uint8)
    sheet = Sheet(memory, key, pooled=True, typed=True)
    sheet.write(batch)
    ends = [(at, at + 1) for begin, end in zip(batch.starts, batch.starts[1:], strict=False) for at in (begin, end - 1)]
    assert sheet.fields.bounds[: len(ends)].tolist() == [list(map(int, each)) for each in ends]
    assert sheet.fields.bounds[len(ends) :].tolist() == [[0, 1]] * (32 - len(ends))
