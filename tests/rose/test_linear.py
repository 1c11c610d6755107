import pytest
import torch
from torch import Tensor
from torch.nn import functional
from tulip_rose.rose.layers.linear import Activation, Linear

TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2}
PLAIN = {
    Activation.NONE: lambda x: x,
    Activation.GELU: functional.gelu,
    Activation.GELU_TANH: lambda x: functional.gelu(x, approximate="tanh"),
    Activation.RELU: functional.relu,
    Activation.SILU: functional.silu,
}


@pytest.fixture(params=[torch.float32, torch.bfloat16], ids=str)
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    return request.param


def layer(dtype: torch.dtype, *, bias: bool) -> tuple[Tensor, Tensor | None]:
    torch.manual_seed(1)
    return torch.randn(24, 16).mul(0.3).to(dtype), torch.randn(24).to(dtype) if bias else None


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", list(Activation))
@pytest.mark.parametrize("tokens", [1, 7, 64])
def test_a_fused_layer_equals_the_plain_one(
    dtype: torch.dtype, activation: Activation, tokens: int, *, bias: bool
) -> None:
    weight, own = layer(dtype, bias=bias)
    x = torch.randn(tokens, 16).to(dtype)
    expected = PLAIN[activation](functional.linear(x.float(), weight.float(), None if own is None else own.float()))
    found = Linear(weight, own, activation)(x)
    assert found.dtype == dtype
    assert (found.float() - expected).abs().max() < TOLERANCE[dtype] * (1 + expected.abs().max())


def test_the_residual_is_added_and_kept_as_it_was(dtype: torch.dtype) -> None:
    weight, bias = layer(dtype, bias=True)
    x, residual = torch.randn(5, 16).to(dtype), torch.randn(5, 24).to(dtype)
    kept = residual.clone()
    found = Linear(weight, bias).add(x, residual)
    expected = functional.linear(x.float(), weight.float(), bias.float()) + residual.float()
    assert (found.float() - expected).abs().max() < TOLERANCE[dtype] * (1 + expected.abs().max())
    assert torch.equal(residual, kept)
