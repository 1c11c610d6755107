"""Activations, alone and as gates, against torch's in float64."""

from collections.abc import Callable
from math import inf, nan

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from tulip_rose.rose.kernels.activate import activate, let_through
from tulip_rose.rose.kernels.kit import TritonKit
from tulip_rose.rose.layers.linear import PLAIN, Activation

Near = Callable[[Tensor, Tensor], None]
ACTIVATIONS = [each for each in Activation if each is not Activation.NONE]
WIDTHS = [1, 24, 1000, 1030]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("activation", Activation)
def test_a_gate_lets_through_what_lies_beside_it(
    device: torch.device, dtype: torch.dtype, near: Near, activation: Activation, width: int
) -> None:
    both = torch.randn(3, 2 * width, device=device).mul(3).to(dtype)
    gate, up = both.double().chunk(2, dim=1)
    found = let_through(both, activation)
    assert found.dtype == dtype
    near(found, PLAIN[activation](gate) * up)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_activation_takes_the_memory_of_what_it_activates(
    device: torch.device, dtype: torch.dtype, near: Near, activation: Activation, width: int
) -> None:
    x = torch.randn(3, width, device=device).mul(3).to(dtype)
    expected = PLAIN[activation](x.double())
    found = activate(x, activation)
    assert found.data_ptr() == x.data_ptr()
    near(found, expected)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_far_values_fade_or_stay_and_what_is_no_number_stays_so(device: torch.device, activation: Activation) -> None:
    x = torch.tensor([[100.0, -100.0, 1e30, 0.0, nan, inf]], device=device)
    found = activate(x.clone(), activation)[0].tolist()
    assert found[0] == pytest.approx(100.0)
    assert found[1] == pytest.approx(0.0, abs=1e-30)
    assert found[2] == pytest.approx(1e30)
    assert found[3] == 0.0
    assert found[4] != found[4]
    assert found[5] == inf


@pytest.mark.parametrize("biased", [True, False])
def test_a_product_is_added_to_what_it_is_added_to(
    kit: TritonKit, device: torch.device, dtype: torch.dtype, near: Near, *, biased: bool
) -> None:
    x, residual = torch.randn(3, 24, device=device).to(dtype), torch.randn(3, 40, device=device).to(dtype)
    weight = (torch.randn(40, 24, device=device) / 5).to(dtype)
    bias = torch.randn(40, device=device).to(dtype) if biased else None
    product = functional.linear(x.double(), weight.double(), None if bias is None else bias.double())
    expected = residual.double() + product
    near(kit.linear(weight, bias, Activation.NONE).add(x, residual), expected)
    near(kit.linear(weight, bias, Activation.GELU)(x), functional.gelu(product))
    gate = torch.cat((weight, weight.flip(0)))
    own = None if bias is None else torch.cat((bias, bias.flip(0)))
    near(kit.gated(gate, own, Activation.SILU)(x), functional.silu(product) * product.flip(1))
