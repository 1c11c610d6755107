"""RMS norm, rotary positions and gated layers of each kit against the definition in float64."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.layers.rope import Heads, Rope

TOLERANCE = {torch.float32: 3e-5, torch.bfloat16: 2e-2}
"""An angle of fifty units is known to 4e-6 in float32, and turned values are several."""
ROWS = [1, 15, 16, 17, 700]


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(5)


def near(found: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def root_mean_square(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + epsilon).sqrt() * weight


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("size", [16, 50, 384])
@pytest.mark.parametrize("added", [False, True])
def test_rms_norm_divides_by_the_root_of_the_mean_square(
    kit: Kit, dtype: torch.dtype, rows: int, size: int, *, added: bool
) -> None:
    x, other, weight = torch.randn(rows, size).to(dtype), torch.randn(rows, size).to(dtype), torch.randn(size)
    whole = x.double() + other.double() if added else x.double()
    found = kit.rms_norm(weight, 1e-3)(x, other if added else None)
    near(found, root_mean_square(whole, weight.double(), 1e-3), dtype)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("queries", "keys", "size"), [(4, 4, 16), (6, 2, 24), (3, 1, 128), (2, 1, 2)])
@pytest.mark.parametrize("normed", [False, True])
def test_pairs_of_queries_and_keys_are_turned_and_values_stay(
    kit: Kit, dtype: torch.dtype, rows: int, queries: int, keys: int, size: int, *, normed: bool
) -> None:
    weight = torch.randn(queries + keys, size) if normed else None
    heads = Heads(queries, keys, size, weight, 1e-3)
    qkv, positions = torch.randn(rows, heads.width).to(dtype), torch.randint(0, 50, (rows,))
    expected = qkv.double().view(rows, -1, size)
    turned = expected[:, : queries + keys]
    if weight is not None:
        turned = root_mean_square(turned, weight.double(), 1e-3)
    angles = positions[:, None] * 100.0 ** (-torch.arange(0, size, 2).double() / size)
    units = torch.polar(torch.ones_like(angles), angles)[:, None]
    pairs = torch.complex(*turned.unflatten(2, (2, -1)).unbind(2)) * units
    found = kit.turner(heads)(qkv.clone(), Rope(100.0, size, 50, torch.device("cpu"))(positions))
    near(found[:, : heads.turned], torch.cat((pairs.real, pairs.imag), dim=2).flatten(1), dtype)
    assert torch.equal(found[:, heads.turned :], qkv[:, heads.turned :])


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("into", "out"), [(32, 48), (50, 17), (16, 1), (33, 40)])
@pytest.mark.parametrize("biased", [False, True])
def test_a_gate_lets_through_what_lies_below_it(
    kit: Kit, dtype: torch.dtype, rows: int, into: int, out: int, *, biased: bool
) -> None:
    x, weight = torch.randn(rows, into).to(dtype), (torch.randn(2 * out, into) / into**0.5).to(dtype)
    bias = torch.randn(2 * out).to(dtype) if biased else None
    gate, up = functional.linear(x.double(), weight.double(), None if bias is None else bias.double()).chunk(2, dim=1)
    near(kit.gated(weight, bias, Activation.SILU)(x), functional.silu(gate) * up, dtype)


@pytest.mark.parametrize(
    ("activation", "function"),
    [
        (Activation.GELU, functional.gelu),
        (Activation.GELU_TANH, lambda x: functional.gelu(x, approximate="tanh")),
        (Activation.RELU, functional.relu),
        (Activation.NONE, lambda x: x),
    ],
)
def test_the_gate_has_the_activation(kit: Kit, activation: Activation, function: Callable[[Tensor], Tensor]) -> None:
    x, weight = torch.randn(40, 24), torch.randn(2 * 30, 24) / 5
    gate, up = functional.linear(x.double(), weight.double()).chunk(2, dim=1)
    torch.testing.assert_close(
        kit.gated(weight, None, activation)(x).double(), function(gate) * up, rtol=1e-5, atol=1e-5
    )


def test_what_is_not_a_number_stays_so(kit: Kit) -> None:
    x = torch.randn(3, 32)
    x[1, 5] = float("nan")
    found = [kit.rms_norm(torch.ones(32), 1e-6)(x), kit.gated(torch.randn(20, 32), None, Activation.GELU)(x)]
    heads = Heads(1, 0, 32)
    found.append(kit.turner(heads)(x.clone(), Rope(10.0, 32, 3, torch.device("cpu"))(torch.arange(3))))
    for rows in found:
        assert [bool(row.isnan().any()) for row in rows] == [False, True, False]
