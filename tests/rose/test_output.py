import numpy as np
import pytest
import torch
from tulip_rose.rose.inputs import Group
from tulip_rose.rose.output import finish, finite
from tulip_rose.rose.pooling import pool
from tulip_rose.rose.pooling_words import Pooling
from tulip_rose.sequence import OutputForm, VectorType

ROWS = torch.tensor([[3.0, 4.0, -12.0, 0.5, -0.0, 1.0, -1.0, 2.0, -2.0]])


def test_a_vector_is_cut_before_it_is_normalised() -> None:
    assert torch.allclose(finish(ROWS, OutputForm(2)), torch.tensor([[0.6, 0.8]]))


def test_a_vector_keeps_its_norm_when_asked() -> None:
    assert finish(ROWS, OutputForm(3, normalize=False)).tolist() == [[3.0, 4.0, -12.0]]


def test_int8_is_the_rounded_tanh_of_the_unnormalised_vector() -> None:
    values = torch.tensor([[0.0, 0.1, -0.1, 1.0, -1.0, 20.0, -20.0]])
    form = OutputForm(7, vector_type=VectorType.INT8)
    assert finish(values, form).tolist() == [[0, 13, -13, 97, -97, 127, -127]]


def test_binary_is_the_sign_with_the_least_significant_bit_first() -> None:
    packed = finish(ROWS, OutputForm(9, vector_type=VectorType.BINARY))
    expected = np.packbits((ROWS >= 0).numpy(), axis=1, bitorder="little")
    assert packed.tolist() == expected.tolist() == [[0b10111011, 0]]


def test_a_row_with_one_infinite_or_missing_number_is_not_finite() -> None:
    rows = torch.tensor([[1.0, 2.0], [float("nan"), 1.0], [1.0, float("-inf")]])
    assert finite(rows).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        (Pooling.CLS, [[0, 1], [4, 5], [8, 9]]),
        (Pooling.LAST_TOKEN, [[2, 3], [6, 7], [12, 13]]),
        (Pooling.MEAN, [[1, 2], [5, 6], [10, 11]]),
    ],
)
def test_each_span_becomes_one_row(pooling: Pooling, expected: list[list[float]]) -> None:
    states = torch.arange(14, dtype=torch.bfloat16).view(7, 2)
    positions = torch.tensor([0, 1, 0, 1, 2, 3, 4])
    rows = pool(states, (Group(0, 2, 2), Group(4, 1, 3)), (pooling,), positions)
    assert rows.dtype == torch.float32
    assert rows.tolist() == expected


def test_a_mean_of_bfloat16_states_is_summed_in_float32() -> None:
    states = torch.full((4096, 1), 1.0, dtype=torch.bfloat16)
    states[0] = 3.0
    mean = pool(states, (Group(0, 1, 4096),), (Pooling.MEAN,), torch.arange(4096)).item()
    assert mean == pytest.approx(4098 / 4096, abs=1e-6)
