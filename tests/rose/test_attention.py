from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from graphkit.batches import ragged_of
from torch import Tensor
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.layers.attention import Mask, TorchAttention, choose
from tulip_rose.rose.layers.bias import Bias
from tulip_rose.rose.layers.kit import Kit

SHORT = ragged_of([1, 5, 5, 5, 9])
LONG = ragged_of([1, 2, 15, 16, 16, 17, 23, 24, 25, 70, 200])
"""Around blocks of sixteen keys and of 24 queries."""
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2}
MASKS = [Mask(), Mask(causal=True), Mask(window=(2, 2)), Mask(causal=True, window=(3, 3)), Mask(window=(100, 100))]
REACH = 210
BIAS = Bias(torch.randn(4, 2 * REACH + 1, generator=torch.Generator().manual_seed(4)))
LEANING = [replace(mask, bias=BIAS) for mask in MASKS]


def one_by_one(q: Tensor, k: Tensor, v: Tensor, ragged: Ragged, mask: Mask, scale: float) -> Tensor:
    """Attention written out, a sequence at a time, in float64."""
    starts = ragged.starts.tolist()
    own = [slice(begin, end) for begin, end in pairwise(starts)]
    return torch.cat([by_definition(q[each], k[each], v[each], mask, scale) for each in own])


def by_definition(q: Tensor, k: Tensor, v: Tensor, mask: Mask, scale: float) -> Tensor:
    length, share = q.shape[0], q.shape[1] // k.shape[1]
    seen = torch.tensor([[sees(i, j, mask) for j in range(length)] for i in range(length)])
    k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
    logits = torch.einsum("ihd,jhd->hij", q.double(), k.double()) * scale
    if mask.bias is not None:
        distances = torch.tensor([[j - i for j in range(length)] for i in range(length)])
        logits += mask.bias.by_distance.double()[:, distances + REACH]
    weights = logits.masked_fill(~seen, float("-inf")).softmax(-1)
    return torch.einsum("hij,jhd->ihd", weights, v.double()).flatten(1)


def sees(query: int, key: int, mask: Mask) -> bool:
    left, right = mask.window or (10**6, 10**6)
    return -left <= key - query <= right and not (mask.causal and key > query)


def random(tokens: int, heads: int, size: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(tokens, heads, size).to(dtype)


@pytest.mark.parametrize("mask", MASKS + LEANING, ids=str)
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("size", [8, 16, 80])
def test_attention_equals_its_definition_in_each_sequence_alone(
    kit: Kit, dtype: torch.dtype, mask: Mask, kv_heads: int, size: int
) -> None:
    torch.manual_seed(5)
    for ragged in (SHORT, LONG):
        q = random(ragged.tokens, 4, size, dtype)
        k, v = random(ragged.tokens, kv_heads, size, dtype), random(ragged.tokens, kv_heads, size, dtype)
        out = kit.attention(q, k, v, ragged, mask, 0.3)
        assert out.shape == (ragged.tokens, 4 * size)
        expected = one_by_one(q, k, v, ragged, mask, 0.3)
        assert (out.double() - expected).abs().max() < TOLERANCE[dtype]


def test_strided_views_of_one_packed_projection_are_taken_as_they_are(kit: Kit, dtype: torch.dtype) -> None:
    torch.manual_seed(6)
    q, k, v = torch.randn(SHORT.tokens, 3, 4, 32).to(dtype).unbind(1)
    out = kit.attention(q, k, v, SHORT, Mask(), 0.3)
    assert out.is_contiguous()
    assert (out.double() - one_by_one(q, k, v, SHORT, Mask(), 0.3)).abs().max() < TOLERANCE[dtype]


def test_very_large_logits_do_not_overflow(kit: Kit) -> None:
    torch.manual_seed(8)
    q, k, v = (random(SHORT.tokens, 4, 16, torch.float32) for _ in range(3))
    out = kit.attention(q * 100, k, v, SHORT, Mask(), 10.0)
    assert (out.double() - one_by_one(q * 100, k, v, SHORT, Mask(), 10.0)).abs().max() < 1e-3


def test_an_unknown_backend_is_refused_with_those_that_are_known() -> None:
    backends = {"torch": TorchAttention()}
    assert choose("auto", backends).name == "torch"
    with pytest.raises(LoadError, match="'flash9' is not known here; known are auto, torch"):
        choose("flash9", backends)


def test_rows_after_the_last_sequence_are_zeros_whatever_they_held(kit: Kit, dtype: torch.dtype) -> None:
    torch.manual_seed(7)
    tokens = SHORT.tokens
    q, k, v = torch.randn(tokens + 3, 3, 4, 16).to(dtype).unbind(1)
    expected = kit.attention(q[:tokens], k[:tokens], v[:tokens], SHORT, Mask(), 0.3)
    for x in (q, k, v):
        x[tokens:] = float("nan")
    out = kit.attention(q, k, v, SHORT, Mask(), 0.3)
    assert torch.equal(out[:tokens], expected)
    assert not out[tokens:].any()


def test_a_sequence_that_is_not_finite_leaves_its_neighbours_alone(kit: Kit, dtype: torch.dtype) -> None:
    torch.manual_seed(9)
    q, k, v = torch.randn(SHORT.tokens, 3, 4, 16).to(dtype).unbind(1)
    expected = kit.attention(q, k, v, SHORT, Mask(), 0.3)
    for x in (q, k, v):
        x[6:11] = float("nan")
    out = kit.attention(q, k, v, SHORT, Mask(), 0.3)
    assert not torch.isfinite(out[6:11]).any()
    assert torch.equal(out[:6], expected[:6])
    assert torch.equal(out[11:], expected[11:])
