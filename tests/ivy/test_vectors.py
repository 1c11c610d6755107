"""Types of vectors: each against the library that defines it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from ivy.vectors import SOURCES, VectorKind, derived, of_source, sources_of, stored, unit
from sentence_transformers.util import quantize_embeddings
from trellis_wire.v1 import embedding_pb2 as pb

ROWS = arrays(
    np.float32,
    st.tuples(st.integers(1, 4), st.integers(1, 21)),
    elements=st.floats(-8, 8, width=32) | st.sampled_from([0.0, -0.0, 1e-40, -1e-40, 0.5, 1 / 3]),
)


@given(ROWS)
def test_bits_are_those_of_sentence_transformers(rows):
    for kind, precision in ((VectorKind.BINARY, "binary"), (VectorKind.UBINARY, "ubinary")):
        found, wanted = derived(kind, rows), quantize_embeddings(rows, precision)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype


@given(ROWS)
def test_half_precision_is_that_of_torch(rows):
    given_rows = torch.from_numpy(rows)
    half = stored(VectorKind.FLOAT16, derived(VectorKind.FLOAT16, rows))
    assert half.tobytes() == given_rows.to(torch.float16).numpy().tobytes()
    brain = derived(VectorKind.BFLOAT16, rows)
    np.testing.assert_array_equal(brain, given_rows.to(torch.bfloat16).to(torch.float32).numpy())
    wanted = given_rows.to(torch.bfloat16).view(torch.int16).numpy().tobytes()
    assert stored(VectorKind.BFLOAT16, brain).tobytes() == wanted


def test_what_no_half_can_hold_is_the_largest_that_there_is():
    rows = np.array([[70_000.0, 1.0, -1e30]], np.float32)
    assert derived(VectorKind.FLOAT16, rows).tolist() == [[65_504.0, 1.0, -65_504.0]]


@given(arrays(np.int8, (3, 5)))
def test_uint8_is_int8_moved_by_128(rows):
    found = derived(VectorKind.UINT8, rows)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found.astype(int), rows.astype(int) + 128)


@given(ROWS)
def test_what_is_put_together_here_becomes_what_an_engine_would_give(rows):
    values = torch.from_numpy(rows)
    small = of_source(pb.VECTOR_TYPE_INT8, rows, normalize=True)
    wanted = values.tanh().mul(127).round().clamp(-128, 127).numpy()
    # Two libraries may differ by the last bit of tanh, which rounds to the other side of a half.
    assert small.dtype == np.int8
    assert np.abs(small - wanted).max() <= 1
    assert np.abs(small - 127 * np.tanh(rows.astype(np.float64))).max() <= 0.50001
    bits = of_source(pb.VECTOR_TYPE_BINARY, rows, normalize=True)
    np.testing.assert_array_equal(bits, np.packbits(rows >= 0, axis=1, bitorder="little"))
    normed = torch.nn.functional.normalize(values, dim=1).numpy()
    np.testing.assert_allclose(of_source(pb.VECTOR_TYPE_FLOAT32, rows, normalize=True), normed, atol=1e-6)
    assert of_source(pb.VECTOR_TYPE_FLOAT32, rows, normalize=False) is rows


def test_a_row_of_zeros_has_no_direction_and_stays():
    np.testing.assert_array_equal(unit(np.zeros((1, 4), np.float32)), np.zeros((1, 4)))


def test_an_engine_is_asked_once_for_what_several_types_are_made_of():
    assert set(SOURCES) == set(VectorKind)
    assert sources_of([VectorKind.UINT8, VectorKind.FLOAT16, VectorKind.UBINARY, VectorKind.INT8]) == [
        pb.VECTOR_TYPE_INT8,
        pb.VECTOR_TYPE_FLOAT32,
    ]


@pytest.mark.parametrize("kind", [VectorKind.FLOAT32, VectorKind.INT8, VectorKind.BITS])
def test_what_the_engine_gives_as_asked_is_not_copied(kind):
    rows = np.zeros((2, 8), {VectorKind.FLOAT32: "<f4", VectorKind.INT8: "i1", VectorKind.BITS: "u1"}[kind])
    assert derived(kind, rows) is rows
    assert stored(kind, rows) is rows or np.shares_memory(stored(kind, rows), rows)
