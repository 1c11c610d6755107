import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trellis_wire.v1.packing import PackingError
from trellis_wire.v1.terms import TermRow, pack_terms, terms_bytes, unpack_terms

VOCABULARY = 50
ROWS = st.lists(st.dictionaries(st.integers(0, VOCABULARY - 1), st.floats(0.125, 9, width=32), max_size=8), max_size=6)


def row(weights: dict[int, float]) -> TermRow:
    terms = sorted(weights)
    return TermRow(np.array(terms, np.int32), np.array([weights[term] for term in terms], np.float32))


@given(ROWS)
def test_rows_come_back_as_they_were(rows: list[dict[int, float]]) -> None:
    packed = pack_terms([row(own) for own in rows])
    assert len(packed) == sum(terms_bytes(len(own)) for own in rows)
    found = unpack_terms(packed, len(rows), VOCABULARY)
    assert [dict(zip(own.terms.tolist(), own.weights.tolist(), strict=True)) for own in found] == rows


@given(ROWS.filter(bool), st.data())
def test_bytes_that_are_cut_anywhere_are_refused(rows: list[dict[int, float]], data: st.DataObject) -> None:
    packed = pack_terms([row(own) for own in rows])
    with pytest.raises(PackingError, match="rows end within row"):
        unpack_terms(packed[: data.draw(st.integers(0, len(packed) - 1))], len(rows), VOCABULARY)


def test_bytes_after_the_last_row_are_refused() -> None:
    with pytest.raises(PackingError, match="rows hold 13 bytes, 1 rows are 12 bytes"):
        unpack_terms(pack_terms([row({3: 1.0})]) + b"\0", 1, VOCABULARY)


@pytest.mark.parametrize("terms", [[VOCABULARY], [-1], [4, 4], [4, 3]])
def test_terms_out_of_the_vocabulary_or_out_of_order_are_refused(terms: list[int]) -> None:
    wrong = TermRow(np.array(terms, np.int32), np.ones(len(terms), np.float32))
    with pytest.raises(PackingError, match="the terms of row 0 do not ascend"):
        unpack_terms(pack_terms([wrong]), 1, VOCABULARY)
