import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tulip_rose.rose import laid
from tulip_rose.rose import survey as module
from tulip_rose.rose.laid import Laid, lay
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
    types = np.zeros(len(ids), np.uint8) if typed else None
    own = min(unseen, len(ids) - 1)
    return Sequence(np.array(ids, np.int32), (Want(((0, len(ids)),), FORM),), 0.0, 1.0, types, own)


def surveyed(sequences: list[Sequence], compiled: bool) -> Survey:
    heads, ids = b"".join(each.head for each in sequences), b"".join(each.ids for each in sequences)
    if not compiled:
        return module._survey(heads, ids)
    assert library.layout() is not None
    return survey(heads, len(sequences), ids)


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
    assert by_numpy == compiled


@given(texts, st.booleans())
def test_compiled_code_lays_texts_out_as_numpy_does(
    given_texts: list[tuple[list[int], int, bool]], spans: bool
) -> None:
    sequences = [sequence_of(*each) for each in given_texts]
    heads, ids = b"".join(each.head for each in sequences), b"".join(each.ids for each in sequences)
    types = bytes(number % 256 for number in range(len(ids) // 4)) if given_texts[0][2] else None
    found = survey(heads, len(sequences), ids)
    assert library.layout() is not None
    compiled = lay(heads, len(sequences), ids, types, found, spans=spans)
    by_numpy = laid._lay(heads, ids, types, found.order, spans=spans)
    for name, one, other in zip(Laid._fields, compiled, by_numpy, strict=True):
        assert (one is None and other is None) or (one.dtype == other.dtype and one.tolist() == other.tolist()), name


@both_ways
def test_ids_of_another_size_are_refused(compiled: bool) -> None:
    wrong = Sequence(np.arange(3), (Want(((0, 3),), FORM),), 0.0, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="6 token ids are not as many as 1 sequences say"):
        surveyed([wrong], compiled)


def test_a_head_says_what_a_text_is_and_where_it_wants_its_one_row() -> None:
    ids = np.arange(7, dtype=np.int32)
    one = Sequence(ids, (Want(((2, 5),), FORM),), 0.0, 1.0, np.ones(7, np.uint8), unseen=3)
    several = Sequence(ids, (Want(((2, 5), (1, 2)), FORM),), 0.0, 1.0)
    assert heads_of(one.head + several.head).tolist() == [(7, 3, 1, 2, 5), (7, 0, 0, 0, 0)]
    assert np.frombuffer(one.ids, np.int32).tolist() == ids.tolist()
