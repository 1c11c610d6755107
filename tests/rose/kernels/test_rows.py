"""Rows of spans against torch's head, which reads lists where the kernels read tensors."""

from math import nan

import pytest
import torch
from torch import Tensor
from tulip_rose.rose.batch import Batch, Part, Ragged
from tulip_rose.rose.kernels.kit import TritonKit
from tulip_rose.rose.layers.head import Made, TorchHead
from tulip_rose.rose.pooling_words import Pooling, Poolings
from tulip_rose.rose.rows.dense import Dense
from tulip_rose.sequence import OutputForm, VectorType

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


def batch_of(device: torch.device) -> Batch:
    ids = torch.zeros(TOKENS, dtype=torch.int64, device=device)
    return Batch(ids, torch.arange(TOKENS, device=device) % 70, None, Ragged.of([TOKENS]), (), ())


def rows_of(
    kit: TritonKit, states: Tensor, form: OutputForm, poolings: Poolings, spans: list[tuple[int, int]] = SPANS
) -> Made:
    """As in a graph: of the spans nothing is known but the tensor of their bounds."""
    part = Part(form, (), torch.tensor(spans, dtype=torch.int32, device=states.device))
    return kit.head(poolings)(states, part, batch_of(states.device))


def expected(states: Tensor, form: OutputForm, poolings: Poolings) -> Made:
    cpu = torch.device("cpu")
    return TorchHead(poolings)(states.cpu(), Part.of(form, SPANS), batch_of(cpu))


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
    same(rows_of(kit, states, form, (pooling,)), expected(states, form, (pooling,)))


def test_joined_poolings_lie_beside_each_other(kit: TritonKit, device: torch.device, dtype: torch.dtype) -> None:
    states, form = torch.randn(TOKENS, SIZE, device=device).to(dtype), OutputForm(6 * SIZE)
    same(rows_of(kit, states, form, tuple(Pooling)), expected(states, form, tuple(Pooling)))


def test_int8_and_bits_are_those_of_the_definition(kit: TritonKit, device: torch.device) -> None:
    states = torch.tensor([[0.0, 0.1, -0.1, 1.0, -1.0, 20.0, -20.0, -0.0, 1e-9, -1e-9]], device=device)
    spans, poolings = [(0, 1)], (Pooling.CLS,)
    whole = rows_of(kit, states, OutputForm(10, vector_type=VectorType.INT8), poolings, spans)
    assert whole.rows.tolist() == [[0, 13, -13, 97, -97, 127, -127, 0, 0, 0]]
    bits = rows_of(kit, states, OutputForm(10, vector_type=VectorType.BINARY), poolings, spans)
    assert bits.rows.tolist() == [[0b10101011, 0b01]]


@pytest.mark.parametrize("pooling", Pooling)
def test_a_row_is_the_same_bit_for_bit_wherever_its_span_lies_and_whatever_lies_beside_it(
    kit: TritonKit, device: torch.device, dtype: torch.dtype, pooling: Pooling
) -> None:
    states, form = torch.randn(70, SIZE, device=device).to(dtype), OutputForm(SIZE)
    among = torch.full((TOKENS, SIZE), nan, device=device).to(dtype)
    among[:70], among[70 : TOKENS - 1] = states, states[:69]
    alone = rows_of(kit, states, form, (pooling,), [(0, 69)])
    beside = rows_of(kit, among, form, (pooling,), [(139, 140), (0, 69), (69, 140), (70, 139)])
    assert beside.finite.tolist() == [False, True, False, True]
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
    found = rows_of(kit, states, form, (pooling,))
    same(found, expected(states, form, (pooling,)))
    lost = wrong == float("-inf") and pooling is Pooling.MAX
    assert found.finite.tolist() == [True, lost, True, True, True, True]


def test_what_modules_bound_is_told_to_be_broken_all_the_same(kit: TritonKit, device: torch.device) -> None:
    states = torch.randn(TOKENS, SIZE, device=device)
    states[2, 3] = float("inf")
    dense = Dense(5, torch.randn(5, SIZE, device=device), None, torch.tanh)
    part = Part(OutputForm(5), (), torch.tensor(SPANS, dtype=torch.int32, device=device))
    found = kit.head((Pooling.MEAN,), (dense,))(states, part, batch_of(device))
    own = Dense(5, dense.weight.cpu(), None, torch.tanh)
    head = TorchHead((Pooling.MEAN,), (own,))
    same(found, head(states.cpu(), Part.of(OutputForm(5), SPANS), batch_of(torch.device("cpu"))))
    assert found.finite.tolist() == [True, False, True, True, True, True]


def test_the_mean_of_a_long_text_in_bfloat16_loses_nothing(kit: TritonKit, device: torch.device) -> None:
    states = torch.full((4096, 16), 1.001, device=device).to(torch.bfloat16)
    states[0] = 3.0
    part = Part(OutputForm(16, normalize=False), (), torch.tensor([[0, 4096]], dtype=torch.int32, device=device))
    rows = kit.head((Pooling.MEAN,))(states, part, batch_of(device)).rows
    assert rows[0, 0].item() == pytest.approx(states[:, 0].double().mean().item(), abs=1e-6)
