import pytest
import torch
from torch import Tensor
from torch.nn import functional
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.linear import Activation, TorchLinear

TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2}
PLAIN = {
    Activation.NONE: lambda x: x,
    Activation.GELU: functional.gelu,
    Activation.GELU_TANH: lambda x: functional.gelu(x, approximate="tanh"),
    Activation.RELU: functional.relu,
    Activation.SILU: functional.silu,
}
SHAPES = [(24, 16), (64, 32), (72, 48), (384, 384), (200, 1000)]
"""[out, in]: with and without a rest over blocks of sixteen, and large enough to be shared by threads."""


def layer(dtype: torch.dtype, out: int = 24, into: int = 16, *, bias: bool = True) -> tuple[Tensor, Tensor | None]:
    torch.manual_seed(1)
    weight = torch.randn(out, into).mul(into**-0.5).to(dtype)
    return weight, torch.randn(out).to(dtype) if bias else None


def exact(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return functional.linear(x.double(), weight.double(), None if bias is None else bias.double())


def assert_close(found: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    assert found.dtype == dtype
    assert (found.double() - expected).abs().max() < TOLERANCE[dtype] * (1 + expected.abs().max())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", list(Activation))
@pytest.mark.parametrize("tokens", [1, 7, 64])
def test_a_fused_layer_equals_the_plain_one(
    kit: Kit, dtype: torch.dtype, activation: Activation, tokens: int, *, bias: bool
) -> None:
    weight, own = layer(dtype, bias=bias)
    x = torch.randn(tokens, 16).mul(3).to(dtype)
    assert_close(kit.linear(weight, own, activation)(x), PLAIN[activation](exact(x, weight, own)), dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("tokens", [*range(1, 14), 31, 100, 301])
def test_every_number_of_rows_and_any_shape_is_whole(
    kit: Kit, dtype: torch.dtype, shape: tuple[int, int], tokens: int
) -> None:
    weight, bias = layer(dtype, *shape)
    x, residual = torch.randn(tokens, shape[1]).to(dtype), torch.randn(tokens, shape[0]).to(dtype)
    found = kit.linear(weight, bias, Activation.NONE).add(x, residual)
    assert_close(found, exact(x, weight, bias) + residual.double(), dtype)


def test_an_odd_number_of_inputs_is_taken(kit: Kit, dtype: torch.dtype) -> None:
    weight, bias = layer(dtype, 24, 15)
    x = torch.randn(5, 15).to(dtype)
    assert_close(kit.linear(weight, bias, Activation.NONE)(x), exact(x, weight, bias), dtype)


def test_the_residual_is_added_without_the_activation_and_kept_as_it_was(kit: Kit, dtype: torch.dtype) -> None:
    weight, bias = layer(dtype)
    x, residual = torch.randn(5, 16).to(dtype), torch.randn(5, 24).to(dtype)
    kept = residual.clone()
    found = kit.linear(weight, bias, Activation.NONE).add(x, residual)
    assert_close(found, exact(x, weight, bias) + residual.double(), dtype)
    assert torch.equal(residual, kept)


@pytest.mark.parametrize("activation", list(Activation))
@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_row_that_is_not_finite_stays_so_and_alone(
    kit: Kit, dtype: torch.dtype, activation: Activation, wrong: float
) -> None:
    weight, bias = layer(dtype)
    x = torch.randn(9, 16).to(dtype)
    expected = kit.linear(weight, bias, activation)(x)
    x[4, 3] = wrong
    found = kit.linear(weight, bias, activation)(x)
    others = [row for row in range(9) if row != 4]
    assert torch.equal(found[others], expected[others])
    assert not torch.isfinite(found[4]).all()


@pytest.mark.parametrize("activation", list(Activation))
def test_an_activation_is_right_far_from_zero_too(kit: Kit, activation: Activation) -> None:
    weight = torch.eye(16)
    x = torch.linspace(-100, 100, 16 * 4001).view(-1, 16)
    found = kit.linear(weight, None, activation)(x)
    expected = PLAIN[activation](x.double())
    assert (found.double() - expected).abs().max() < 2e-5
    near = x.abs() < 4
    assert (found.double() - expected)[near].abs().max() < 2e-6


@pytest.mark.parametrize("activation", list(Activation))
def test_a_processor_that_multiplies_no_bfloat16_multiplies_float32(
    monkeypatch: pytest.MonkeyPatch, activation: Activation
) -> None:
    def refuse(weight: Tensor, rows: None) -> Tensor:
        # As on processors without AVX-512.
        assert weight.dtype is torch.float32, "the processor cannot"
        return packed(weight, rows)

    packed = torch.ops.mkldnn._reorder_linear_weight
    monkeypatch.setattr(torch.ops.mkldnn, "_reorder_linear_weight", refuse)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    for dtype in TOLERANCE:
        weight, bias = layer(dtype)
        x, residual = torch.randn(7, 16).to(dtype), torch.randn(7, 24).to(dtype)
        plain = exact(x, weight, bias)
        assert_close(TorchLinear(weight, bias, activation)(x), PLAIN[activation](plain), dtype)
        assert_close(TorchLinear(weight, bias).add(x, residual.clone()), plain + residual.double(), dtype)
