"""Row modules, and heads that use them."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.layers.head import TorchHead
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.pooling_words import Pooling
from tulip_rose.rose.rows.activation import identity, row_activation
from tulip_rose.rose.rows.dense import Dense
from tulip_rose.rose.rows.layer_norm import LayerNorm
from tulip_rose.rose.rows.unit_norm import UnitNorm
from tulip_rose.sequence import OutputForm, Sequence, VectorType


@pytest.fixture
def rows() -> Tensor:
    torch.manual_seed(7)
    return torch.randn(5, 8)


def inputs_of(form: OutputForm) -> Inputs:
    return Inputs.of(Batch.pack([Sequence.whole(np.zeros(length, np.int32), form) for length in (1, 4, 4)]))


@pytest.mark.parametrize("residual", [False, True], ids=["no residual", "residual"])
def test_a_dense_layer_is_that_of_torch(rows: Tensor, *, residual: bool) -> None:
    layer = nn.Linear(8, 8)
    dense = Dense(8, layer.weight, layer.bias, torch.tanh, residual)
    assert torch.allclose(dense(rows), layer(rows).tanh() + (rows if residual else 0))


def test_what_a_dense_layer_adds_may_be_multiplied_before(rows: Tensor) -> None:
    layer, other = nn.Linear(8, 3), nn.Linear(8, 3, bias=False)
    dense = Dense(3, layer.weight, layer.bias, identity, other.weight)
    assert torch.allclose(dense(rows), layer(rows) + other(rows))


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_a_layer_norm_is_that_of_torch(rows: Tensor, *, bias: bool) -> None:
    layer = nn.LayerNorm(8, eps=1e-3, bias=bias)
    nn.init.normal_(layer.weight)
    assert torch.allclose(LayerNorm(layer.weight, layer.bias, 1e-3)(rows), layer(rows))


def test_unit_norm_leaves_a_row_of_zeros(rows: Tensor) -> None:
    rows[2] = 0
    assert torch.allclose(UnitNorm(8)(rows).norm(dim=1), torch.tensor([1.0, 1, 0, 1, 1]))


@pytest.mark.parametrize("name", ["torch.nn.Tanh", "torch.nn.modules.activation.Tanh"])
def test_an_activation_is_found_by_the_path_of_its_class(rows: Tensor, name: str) -> None:
    assert torch.equal(row_activation(name, "here")(rows), rows.tanh())


@pytest.mark.parametrize("name", ["os.system", "torch.nn.Softmax", "Tanh", "my.torch.nn.Tanh", ""])
def test_an_activation_that_is_not_known_is_refused_and_never_imported(name: str) -> None:
    with pytest.raises(LoadError, match=r"here: activation_function '.*' is not known; known are torch.nn.Identity"):
        row_activation(name, "here")


def test_rows_go_through_all_modules_before_they_are_cut(kit: Kit) -> None:
    torch.manual_seed(1)
    form = OutputForm(3)
    inputs, states, weight = inputs_of(form), torch.randn(9, 8), torch.randn(6, 8)
    head = kit.head((Pooling.MEAN,), (Dense(6, weight, None, torch.tanh), UnitNorm(6)))
    found = head(states, inputs.parts[0], inputs).rows
    means = torch.stack([states[0], states[1:5].mean(0), states[5:9].mean(0)])
    expected = nn.functional.normalize((means @ weight.T).tanh()[:, :3], dim=1)
    assert torch.allclose(found, expected, atol=1e-6)


def test_bits_are_those_of_the_last_module(kit: Kit) -> None:
    inputs = inputs_of(OutputForm(8, vector_type=VectorType.BINARY))
    head = kit.head((Pooling.CLS,), (Dense(8, -torch.eye(8), None, identity),))
    assert head(torch.ones(9, 8), inputs.parts[0], inputs).rows.tolist() == [[0]] * 3


@pytest.mark.parametrize("wrong", [torch.inf, -torch.inf, torch.nan])
def test_a_row_that_is_not_finite_fails_even_where_a_module_makes_numbers_of_it(wrong: float) -> None:
    inputs, states = inputs_of(OutputForm(4)), torch.ones(9, 8)
    states[0] = wrong
    head = TorchHead((Pooling.MEAN,), (Dense(4, torch.ones(4, 8), None, torch.sigmoid),))
    made = head(states, inputs.parts[0], inputs)
    assert made.finite.tolist() == [False, True, True]
    assert not made.rows[0].any()


def test_a_row_that_a_module_takes_out_of_the_numbers_fails() -> None:
    inputs = inputs_of(OutputForm(4))
    head = TorchHead((Pooling.MEAN,), (Dense(4, torch.full((4, 8), 3e38), None, identity),))
    assert head(torch.ones(9, 8), inputs.parts[0], inputs).finite.tolist() == [False] * 3
