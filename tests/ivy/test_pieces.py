"""Windows and pieces: no token lost, none twice, spans where the chunks lie, averages by tokens. All of it pure."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ivy.errors import ContextTooLong
from ivy.layout import Layout, _owned, documents
from ivy.pieces import Frame, Piece, after, whole, window_count, windowed
from ivy.tokenize.tokenizer import Template
from ivy.windows import averaged, even, overlapping

CLS, SEP, EOT = 900, 901, 902
AROUND = Template((CLS,), (SEP,))
BARE = Template((), ())


@given(st.integers(1, 500), st.integers(1, 40))
def test_even_runs_cover_everything_once_and_are_as_few_and_as_equal_as_can_be(total, size):
    runs = even(total, size)
    assert [place for begin, end in runs for place in range(begin, end)] == list(range(total))
    lengths = [end - begin for begin, end in runs]
    assert len(runs) == -(-total // size)
    assert max(lengths) <= size
    assert max(lengths) - min(lengths) <= 1


@given(st.integers(1, 500), st.integers(2, 40), st.data())
def test_every_token_is_owned_once_and_seen_with_half_of_the_overlap_around_it(total, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    windows = overlapping(total, size, overlap)
    owned = [place for window in windows for place in range(window.own_begin, window.own_end)]
    assert owned == list(range(total))
    for window in windows:
        assert window.begin <= window.own_begin <= window.own_end <= window.end <= window.begin + size
        assert window.end - window.begin == min(size, total)
        assert window.begin == 0 or window.own_begin - window.begin >= overlap // 2
        assert window.end == total or window.end - window.own_end >= overlap // 2


def states(ids) -> np.ndarray:
    """A stand-in for a model without context: the state of a token is its id."""
    return np.asarray(ids, dtype=np.float32)[:, None]


def pooled(made) -> np.ndarray:
    """What an engine with mean pooling gives for pieces, put together as they say."""
    rows = [
        states(piece.ids)[begin:end].mean(axis=0)
        for piece in made.pieces
        for begin, end in (piece.spans or ((0, len(piece.ids)),))
    ]
    found = np.stack(rows)
    return found if made.parts is None else averaged(found, made.parts.targets, made.parts.weights, made.count)


CHUNKS = st.lists(st.lists(st.integers(1, 800), min_size=1, max_size=30), min_size=1, max_size=8)


@given(st.lists(CHUNKS, min_size=1, max_size=3), st.integers(4, 40), st.data())
def test_a_chunk_is_the_mean_of_all_of_its_tokens_however_many_windows_they_are_in(chunks, room, data):
    overlap = data.draw(st.integers(0, room - 1))
    made = documents(chunks, Layout(BARE, (EOT,), room, overlap))
    assert made.count == sum(map(len, chunks))
    assert all(len(piece.ids) <= room for piece in made.pieces)
    wanted = np.stack([states(chunk).mean(axis=0) for document in chunks for chunk in document])
    np.testing.assert_allclose(pooled(made), wanted, rtol=1e-4)


def test_a_window_looks_at_no_chunks_but_its_own_and_one_beside_it():
    """Else a document of a megabyte in many chunks would take as long as windows times chunks."""

    class Bounds(list):
        looked = 0

        def __getitem__(self, place):
            Bounds.looked += 1
            return super().__getitem__(place)

    bounds = Bounds((8 * place, 8 * place + 8) for place in range(4000))
    windows = overlapping(32_000, 64, 8)
    owned = [part for _, parts in _owned(bounds, windows) for part in parts]
    assert sum(end - begin for _, begin, end in owned) == 32_000
    assert Bounds.looked < 5 * (len(bounds) + len(owned))


@given(st.lists(st.integers(1, 800), min_size=1, max_size=20))
def test_a_document_of_one_chunk_has_the_vector_of_its_text(chunk):
    made = documents([[chunk]], Layout(AROUND, (EOT,), 64, 8))
    assert [(list(piece.ids), list(piece.spans)) for piece in made.pieces] == [
        ([CLS, *chunk, SEP], [(0, len(chunk) + 2)])
    ]


def test_separators_stand_between_chunks_and_belong_to_none():
    made = documents([[[1, 2], [3], [4, 5]]], Layout(AROUND, (EOT,), 64, 8))
    assert made.pieces == [Piece([CLS, 1, 2, EOT, 3, EOT, 4, 5, SEP], [(0, 3), (4, 5), (6, 9)])]
    assert made.parts is None
    assert made.tokens == 9


def test_without_a_separator_chunks_stand_side_by_side():
    made = documents([[[1, 2], [3]], [[4]]], Layout(AROUND, (), 64, 8))
    assert made.pieces == [Piece([CLS, 1, 2, 3, SEP], [(0, 3), (3, 5)]), Piece([CLS, 4, SEP], [(0, 3)])]


def test_a_long_document_is_seen_in_windows_that_share_tokens():
    made = documents([[[1, 2, 3, 4], [5, 6, 7, 8]]], Layout(AROUND, (), 8, 2))
    assert made.pieces == [
        Piece([CLS, 1, 2, 3, 4, 5, 6, SEP], [(0, 5)]),
        Piece([CLS, 3, 4, 5, 6, 7, 8, SEP], [(3, 8)]),
    ]


def test_a_chunk_in_two_windows_is_the_average_of_its_parts_by_tokens():
    made = documents([[[1, 2, 3, 4, 5, 6, 7, 8]]], Layout(BARE, (), 6, 2))
    assert made.parts is not None
    assert made.parts.targets == [0, 0]
    assert made.parts.weights == [4, 4]


@given(st.lists(st.integers(1, 800), min_size=1, max_size=90), st.integers(1, 30))
def test_a_long_text_is_the_average_of_its_windows_by_tokens(body, room):
    frame = Frame(BARE, (), True, room)
    made = windowed([body, [7]], frame)
    assert len(made.pieces) == window_count([body, [7]], frame)
    np.testing.assert_allclose(pooled(made), np.stack([states(body).mean(axis=0), [7]]), rtol=1e-4)


def test_every_window_has_the_prompt_and_the_special_tokens_around_it():
    made = windowed([[50, 51, 1, 2, 3]], Frame(AROUND, (50, 51), False, 6))
    assert [list(piece.ids) for piece in made.pieces] == [[CLS, 50, 51, 1, SEP], [CLS, 50, 51, 2, 3, SEP]]
    assert [list(piece.spans) for piece in made.pieces] == [[(3, 5)], [(3, 6)]]
    assert made.parts.weights == [1, 2]


def test_what_is_pooled_of_a_text_is_told_before_it_is_asked_for():
    assert Frame(AROUND, (), True, 8).pooled([]) == 2
    assert Frame(BARE, (), True, 8).pooled([]) == 0
    assert Frame(AROUND, (50, 51), False, 8).pooled([50, 51]) == 1
    assert Frame(Template((CLS,), ()), (50, 51), False, 8).pooled([50, 51]) == 0


def test_inputs_that_fit_are_one_row_each_and_nothing_is_averaged():
    assert windowed([[1, 2], [3], []], Frame(AROUND, (), True, 8)).parts is None
    assert whole([[1], [2, 3]]).pieces == [Piece([1]), Piece([2, 3])]


@pytest.mark.parametrize(("pools_prompt", "begin"), [(True, 0), (False, 3)])
def test_a_document_has_its_prompt_once(pools_prompt, begin):
    made = documents([[[1], [2]]], Layout(AROUND, (), 64, 8, (50, 51), pools_prompt))
    assert made.pieces == [Piece([CLS, 50, 51, 1, 2, SEP], [(begin, 4), (4, 6)])]


def test_a_prompt_is_seen_and_not_pooled():
    made = after([[CLS, 5, 6, 7, SEP]], [3], "input[{}]".format)
    assert made.pieces == [Piece([CLS, 5, 6, 7, SEP], ((3, 5),))]
    with pytest.raises(ContextTooLong) as refused:
        after([[CLS, 5, 6, 7], [CLS, 5]], [2, 2], "input[{}]".format)
    assert refused.value.param == "input[1]"


def test_a_vector_of_one_part_is_that_part_bit_for_bit():
    rows = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    found = averaged(rows, [0, 1, 1], [7, 1, 3], 2)
    np.testing.assert_array_equal(found[0], rows[0])
    np.testing.assert_allclose(found[1], (rows[1] + 3 * rows[2]) / 4, rtol=1e-6)
