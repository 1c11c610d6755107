import pytest
import torch
from torch.nn import functional
from tulip_rose.rose.layers.kit import Kit

TOLERANCE = {torch.float32: 2e-6, torch.bfloat16: 2e-2}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("plus", [True, False])
@pytest.mark.parametrize(("rows", "size"), [(1, 32), (17, 40), (200, 384), (3, 5)])
def test_each_row_has_its_own_norm(
    kit: Kit, dtype: torch.dtype, rows: int, size: int, *, bias: bool, plus: bool
) -> None:
    torch.manual_seed(2)
    x, y = (torch.randn(rows, size).mul(3).add(1).to(dtype) for _ in range(2))
    weight, own = torch.randn(size).to(dtype), torch.randn(size).to(dtype) if bias else None
    found = kit.norm(weight, own, 1e-12)(x, y if plus else None)
    total = x.double() + y.double() if plus else x.double()
    expected = functional.layer_norm(total, (size,), weight.double(), None if own is None else own.double(), 1e-12)
    assert found.dtype == dtype
    assert (found.double() - expected).abs().max() < TOLERANCE[dtype] * (1 + expected.abs().max())


def test_what_goes_in_is_kept_as_it_was(kit: Kit, dtype: torch.dtype) -> None:
    x, y = torch.randn(4, 32).to(dtype), torch.randn(4, 32).to(dtype)
    kept = x.clone(), y.clone()
    kit.norm(torch.ones(32).to(dtype), None, 1e-5)(x, y)
    assert torch.equal(x, kept[0])
    assert torch.equal(y, kept[1])
