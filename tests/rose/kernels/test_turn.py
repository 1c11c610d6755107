"""Queries and keys, normed and turned, against the definition in float64."""

from collections.abc import Callable
from math import nan

import pytest
import torch
from torch import Tensor
from tulip_rose.rose.kernels.kit import TritonKit
from tulip_rose.rose.layers.rope import Heads, Rope

EPSILON = 1e-3
HEADS = [(4, 4, 16), (6, 2, 24), (3, 1, 128), (2, 1, 2), (14, 2, 6), (1, 1, 96)]


@pytest.mark.parametrize("base", [100.0, 160_000.0])
@pytest.mark.parametrize(("queries", "keys", "size"), HEADS)
@pytest.mark.parametrize("normed", [False, True])
def test_pairs_are_turned_by_the_table_of_their_base_and_values_stay(
    kit: TritonKit,
    device: torch.device,
    dtype: torch.dtype,
    near: Callable[[Tensor, Tensor], None],
    queries: int,
    keys: int,
    size: int,
    base: float,
    *,
    normed: bool,
) -> None:
    weight = torch.rand(queries + keys, size) + 0.5 if normed else None
    heads = Heads(queries, keys, size, None if weight is None else weight.to(device), EPSILON)
    qkv, positions = torch.randn(5, heads.width).to(dtype), torch.tensor([0, 49, 7, 7, 31])
    x = qkv.double().view(5, -1, size)[:, : queries + keys]
    if weight is not None:
        x = x / (x.square().mean(-1, keepdim=True) + EPSILON).sqrt() * weight.double()
    angles = positions[:, None] * base ** (-torch.arange(0, size, 2).double() / size)
    pairs = torch.complex(*x.unflatten(2, (2, -1)).unbind(2)) * torch.polar(torch.ones_like(angles), angles)[:, None]
    turn = Rope(base, size, 50, device)(positions.to(device))
    found = kit.turner(heads)(qkv.to(device), turn).cpu()
    near(found[:, : heads.turned], torch.cat((pairs.real, pairs.imag), dim=2).flatten(1))
    assert torch.equal(found[:, heads.turned :], qkv[:, heads.turned :])


@pytest.mark.parametrize("normed", [False, True])
def test_tokens_and_heads_that_are_no_numbers_change_no_other(
    kit: TritonKit, device: torch.device, dtype: torch.dtype, *, normed: bool
) -> None:
    heads = Heads(5, 1, 12, torch.ones(6, 12, device=device) if normed else None, EPSILON)
    qkv = torch.randn(4, heads.width, device=device).to(dtype)
    turn = Rope(100.0, 12, 4, device)(torch.arange(4, device=device))
    clean = kit.turner(heads)(qkv.clone(), turn)
    qkv[2] = nan
    qkv[0, 12:24] = nan
    found = kit.turner(heads)(qkv.clone(), turn)
    assert torch.equal(found[[1, 3]], clean[[1, 3]])
    assert torch.equal(found[0, :12], clean[0, :12])
    assert torch.equal(found[0, 24:], clean[0, 24:])
    assert found[2].isnan().all()
