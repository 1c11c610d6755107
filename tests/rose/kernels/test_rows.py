"""Rows of spans against torch's head, which reads lists where the kernels read tensors."""

from math import nan

import numpy as np
import pytest
import torch
from torch import Tensor
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.kernels.kit import TritonKit
from tulip_rose.rose.layers.head import Head, Made, TorchHead
from tulip_rose.rose.pooling_words import Pooling
from tulip_rose.rose.rows.dense import Dense
from tulip_rose.sequence import OutputForm, Sequence, Span, VectorType, Want

SPANS = [(0, 1), (1, 4), (4, 68), (40, 68), (68, 101), (101, 133)]
TOKENS, SIZE = 140, 42
FORMS = [
    OutputForm(42),
    OutputForm(42, normalize=False),
    OutputForm(13),
    OutputForm(42, vector_type=VectorType.INT8),
    OutputForm(7, vector_type=VectorType.INT8),
    OutputForm(42, vector_type=VectorType.BINARY),
    OutputForm(17, vector_type=VectorType.BINARY),
]


def inputs_of(form: OutputForm, spans: list[Span]) -> Inputs:
    """Two texts of 70 tokens; the first asks for rows of spans, which may reach into the other."""
    ids = np.zeros(TOKENS // 2, np.int32)
    wants = (Want(tuple(spans), form),), (Want(((0, 1),), OutputForm(1)),)
    return Inputs.of(Batch.pack([Sequence(ids, want, 0.0, 1.0) for want in wants]))


def rows_of(head: Head, states: Tensor, form: OutputForm, spans: list[Span] = SPANS) -> Made:
    inputs = inputs_of(form, spans)
    placed = inputs.to(states.device, lambda tensor: tensor.to(states.device))
    return head(states, placed.parts[0], placed)


def expected(states: Tensor, form: OutputForm, *poolings: Pooling) -> Made:
    return rows_of(TorchHead(poolings), states.cpu(), form)


def same(found: Made, wanted: Made) -> None:
    """Equal; of int8 a value between two numbers may be either."""
    rows = found.rows.cpu()
    assert rows.dtype == wanted.rows.dtype
    assert rows.shape == wanted.rows.shape
    assert found.finite.tolist() == wanted.finite.tolist()
    off = (rows.double() - wanted.rows.double()).abs()
    assert off.max() <= {torch.float32: 2e-6, torch.int8: 1, torch.uint8: 0}[rows.dtype]
    assert (off > 1e-5).double().mean() < 0.01


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("pooling", Pooling)
def test_each_span_becomes_the_row_that_torch_makes_of_it(
    kit: TritonKit, device: torch.device, dtype: torch.dtype, pooling: Pooling, form: OutputForm
) -> None:
    states = torch.randn(TOKENS, SIZE, device=device).to(dtype)
    same(rows_of(kit.head((pooling,)), states, form), expected(states, form, pooling))


def test_joined_poolings_lie_beside_each_other(kit: TritonKit, device: torch.device, dtype: torch.dtype) -> None:
    states, form = torch.randn(TOKENS, SIZE, device=device).to(dtype), OutputForm(6 * SIZE)
    same(rows_of(kit.head(tuple(Pooling)), states, form), expected(states, form, *Pooling))


def test_int8_and_bits_are_those_of_the_definition(kit: TritonKit, device: torch.device) -> None:
    states = torch.tensor([[0.0, 0.1, -0.1, 1.0, -1.0, 20.0, -20.0, -0.0, 1e-9, -1e-9]], device=device)
    spans, head = [(0, 1)], kit.head((Pooling.CLS,))
    whole = rows_of(head, states, OutputForm(10, vector_type=VectorType.INT8), spans)
    assert whole.rows.tolist() == [[0, 13, -13, 97, -97, 127, -127, 0, 0, 0]]
    bits = rows_of(head, states, OutputForm(10, vector_type=VectorType.BINARY), spans)
    assert bits.rows.tolist() == [[0b10101011, 0b01]]


@pytest.mark.parametrize("pooling", Pooling)
def test_a_row_is_the_same_bit_for_bit_wherever_its_span_lies_and_whatever_lies_beside_it(
    kit: TritonKit, device: torch.device, dtype: torch.dtype, pooling: Pooling
) -> None:
    states, form = torch.randn(70, SIZE, device=device).to(dtype), OutputForm(SIZE)
    among = torch.full((TOKENS, SIZE), nan, device=device).to(dtype)
    among[:70], among[70 : TOKENS - 1] = states, states[:69]
    head = kit.head((pooling,))
    alone = rows_of(head, states, form, [(0, 69)])
    beside = rows_of(head, among, form, [(139, 140), (0, 69), (69, 140), (70, 139)])
    assert beside.finite.tolist() == [False, True, pooling is Pooling.CLS, True]
    assert torch.equal(beside.rows[1], alone.rows[0])
    assert torch.equal(beside.rows[3], alone.rows[0])


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("wrong", [nan, float("inf"), float("-inf")])
@pytest.mark.parametrize("pooling", Pooling)
def test_a_row_with_one_value_that_is_not_finite_is_zeros_and_told_though_it_is_cut(
    kit: TritonKit, device: torch.device, form: OutputForm, pooling: Pooling, wrong: float
) -> None:
    states = torch.randn(TOKENS, SIZE, device=device)
    states[1, 41] = states[3, 41] = wrong
    found = rows_of(kit.head((pooling,)), states, form)
    same(found, expected(states, form, pooling))
    lost = wrong == float("-inf") and pooling is Pooling.MAX
    assert found.finite.tolist() == [True, lost, True, True, True, True]


def test_what_modules_bound_is_told_to_be_broken_all_the_same(kit: TritonKit, device: torch.device) -> None:
    states = torch.randn(TOKENS, SIZE, device=device)
    states[2, 3] = float("inf")
    dense = Dense(5, torch.randn(5, SIZE, device=device), None, torch.tanh)
    found = rows_of(kit.head((Pooling.MEAN,), (dense,)), states, OutputForm(5))
    own = Dense(5, dense.weight.cpu(), None, torch.tanh)
    same(found, rows_of(TorchHead((Pooling.MEAN,), (own,)), states.cpu(), OutputForm(5)))
    assert found.finite.tolist() == [True, False, True, True, True, True]


def test_the_mean_of_a_long_text_in_bfloat16_loses_nothing(kit: TritonKit, device: torch.device) -> None:
    states = torch.full((4096, 16), 1.001, device=device).to(torch.bfloat16)
    states[0] = 3.0
    inputs = Inputs.of(Batch.pack([Sequence.whole(np.zeros(4096, np.int32), OutputForm(16, normalize=False))]))
    placed = inputs.to(device, lambda tensor: tensor.to(device))
    rows = kit.head((Pooling.MEAN,))(states, placed.parts[0], placed).rows
    assert rows[0, 0].item() == pytest.approx(states[:, 0].double().mean().item(), abs=1e-6)
