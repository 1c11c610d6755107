from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tulip_rose.rose import laid
from tulip_rose.rose import survey as module
from tulip_rose.rose.laid import lay
from tulip_rose.rose.native import library
from tulip_rose.rose.survey import Survey, heads_of, survey
from tulip_rose.sequence import OutputForm, Sequence, Want

FORM = OutputForm(4)
texts = st.lists(
    st.tuples(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=9), st.integers(0, 8), st.booleans()),
    min_size=1,
    max_size=40,
)
both_ways = pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "compiled"])


def sequence_of(ids: list[int], unseen: int = 0, typed: bool = False) -> Sequence:
    """Its span begins at its middle."""
    types = np.arange(len(ids), dtype=np.uint8) if typed else None
    own = min(unseen, len(ids) - 1)
    return Sequence(np.array(ids, np.int32), (Want(((len(ids) // 2, len(ids)),), FORM),), 0.0, 1.0, types, own)


def surveyed(sequences: list[Sequence], compiled: bool) -> Survey:
    heads, ids = joined(sequences)
    if not compiled:
        return module._survey(heads, ids)
    assert library.layout() is not None
    return survey(heads, ids)


def types_of(sequence: Sequence) -> bytes:
    return bytes(sequence.tokens) if sequence.token_types is None else sequence.token_types.tobytes()


def joined(sequences: list[Sequence]) -> tuple[bytes, bytes]:
    return b"".join(each.head for each in sequences), b"".join(each.ids for each in sequences)


@both_ways
@given(texts)
def test_texts_lie_by_length_then_by_what_is_unseen_then_as_they_came(
    compiled: bool, given_texts: list[tuple[list[int], int, bool]]
) -> None:
    sequences = [sequence_of(*each) for each in given_texts]
    found = surveyed(sequences, compiled)
    ranks = [(each.tokens, each.unseen, index) for index, each in enumerate(sequences)]
    assert found.order.tolist() == [index for _, _, index in sorted(ranks)]
    assert found.tokens == sum(each.tokens for each in sequences)
    assert found.longest == max(each.tokens for each in sequences)
    assert found.highest == max(token % 2**32 for ids, _, _ in given_texts for token in ids)
    assert found.partly == any(each.unseen for each in sequences)
    assert found.typed == any(typed for _, _, typed in given_texts)


@given(texts)
def test_compiled_code_plans_what_numpy_does(given_texts: list[tuple[list[int], int, bool]]) -> None:
    sequences = [sequence_of(*each) for each in given_texts]
    plans = [np.frombuffer(surveyed(sequences, compiled).plan, np.int64) for compiled in (False, True)]
    by_numpy, compiled = (plan.tolist() for plan in plans)
    # Whether some token is unseen: one tells that alone, the other also how many may be.
    by_numpy[3], compiled[3] = bool(by_numpy[3]), bool(compiled[3])
    # Behind the texts there is room for as many as the next power of two.
    assert by_numpy == compiled[: len(by_numpy)]


@both_ways
@given(texts)
def test_texts_are_laid_out_in_that_order(compiled: bool, given_texts: list[tuple[list[int], int, bool]]) -> None:
    sequences = [sequence_of(*each) for each in given_texts]
    heads, ids = joined(sequences)
    types = b"".join(
        bytes(each.tokens) if each.token_types is None else each.token_types.tobytes() for each in sequences
    )
    found = surveyed(sequences, compiled)
    made = lay(heads, ids, types, found) if compiled else laid._lay(heads, ids, types, found.order)
    assert [None if each is None else each.dtype for each in made] == [np.int32] * 3 + [np.int64] * 3
    slots = [sequences[index] for index in found.order]
    starts = [0, *accumulate(each.tokens for each in slots)]
    assert made.starts.tolist() == starts
    assert made.seen.tolist() == [each.tokens - each.unseen for each in slots]
    assert made.bounds.tolist() == [
        [start + each.tokens // 2, start + each.tokens] for each, start in zip(slots, starts, strict=False)
    ]
    assert made.token_ids.tolist() == [token for each in slots for token in each.token_ids]
    assert made.positions.tolist() == [at for each in slots for at in range(each.tokens)]
    assert made.token_types is not None
    assert made.token_types.tolist() == [kind for each in slots for kind in types_of(each)]


@both_ways
def test_ids_that_are_not_those_of_the_heads_are_refused(compiled: bool) -> None:
    heads, ids = joined([sequence_of([1, 2]), sequence_of([3])])
    with pytest.raises(ValueError, match="2 token ids are not as many as 2 sequences say"):
        survey(heads, ids[4:]) if compiled else module._survey(heads, ids[4:])


@pytest.mark.parametrize(
    "ids", [np.arange(3), np.ones(3, np.float32), np.zeros(0, np.int32)], ids=lambda ids: ids.dtype
)
def test_a_sequence_of_other_ids_is_refused(ids: np.ndarray) -> None:
    with pytest.raises(ValueError, match=f"token_ids are {ids.size} {ids.dtype}: int32 were expected"):
        Sequence(ids, (Want(((0, 1),), FORM),), 0.0, 1.0)


def test_a_head_says_what_a_text_is_and_where_it_wants_its_one_row() -> None:
    ids = np.arange(7, dtype=np.int32)
    one = Sequence(ids, (Want(((2, 5),), FORM),), 0.0, 1.0, np.ones(7, np.uint8), unseen=3)
    several = Sequence(ids, (Want(((2, 5), (1, 2)), FORM),), 0.0, 1.0)
    assert heads_of(one.head + several.head).tolist() == [(7, 3, 1, 2, 5), (7, 0, 0, 0, 0)]
    assert np.frombuffer(one.ids, np.int32).tolist() == ids.tolist()
