import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.lazy import Part, Place, Rows, Single
from tulip_rose.sequence import OutputForm, Sequence, Want

FORMS = [OutputForm(3), OutputForm(2)]
asked = st.lists(
    st.lists(st.tuples(st.integers(0, 1), st.integers(1, 2)), min_size=1, max_size=2, unique_by=lambda want: want[0]),
    min_size=1,
    max_size=12,
)


def part_of(count: int, width: int, seed: int, *, ragged: bool) -> Part:
    """Random rows, some of them not finite."""
    rng = np.random.default_rng(seed)
    finite = rng.random(count) < 0.7
    if not ragged:
        return Part(rng.random((count, width), np.float32), finite)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 5, count))])
    return Part(rng.integers(0, 255, starts[-1], np.uint8), finite, starts)


@given(asked, st.booleans())
def test_what_sequences_are_given_is_what_each_finds_by_itself(
    wants: list[list[tuple[int, int]]], ragged: bool
) -> None:
    batch = Batch.pack(
        [
            Sequence(
                np.zeros(3 + index % 3, np.int32),
                tuple(Want(((0, 1),) * spans, FORMS[form]) for form, spans in own),
                arrival=0.0,
                deadline=1.0,
            )
            for index, own in enumerate(wants)
        ]
    )
    parts = tuple(part_of(part.bounds.shape[0], part.form.dimensions, 5, ragged=ragged) for part in batch.parts)
    rows = Rows(parts, batch.places)
    given = [rows.outputs_of(sequence) for sequence in range(len(wants))]
    assert [len(own) for own in given] == [len(own) for own in wants]
    for sequence, own in enumerate(given):
        for want, output in enumerate(own):
            assert output.rows == rows.of(sequence, want).tobytes()
            assert output.failed_rows == rows.failed(sequence, want)


def test_sequences_of_one_row_each_have_a_place_each() -> None:
    places = Single(np.array([1, 2, 0]))
    assert list(places) == [(Place(0, 2, 1),), (Place(0, 0, 1),), (Place(0, 1, 1),)]
    assert list(places[1:]) == list(places)[1:]
