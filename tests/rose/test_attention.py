import pytest
import torch
from torch import Tensor
from tulip_rose.rose.batch import Group
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.layers.attention import Mask, TorchAttention, choose_attention

GROUPS = (Group(0, 1, 1), Group(1, 3, 5), Group(16, 1, 9))
TOKENS = 25
MASKS = [Mask(), Mask(causal=True), Mask(window=(2, 2)), Mask(causal=True, window=(3, 3)), Mask(window=(100, 100))]


def one_by_one(q: Tensor, k: Tensor, v: Tensor, mask: Mask, scale: float) -> Tensor:
    """Attention written out, a sequence at a time, in float64."""
    rows = []
    for group in GROUPS:
        for begin in range(group.begin, group.end, group.length):
            own = slice(begin, begin + group.length)
            rows.append(by_definition(q[own], k[own], v[own], mask, scale))
    return torch.cat(rows)


def by_definition(q: Tensor, k: Tensor, v: Tensor, mask: Mask, scale: float) -> Tensor:
    q, k, v = q.double(), k.double(), v.double()
    share = q.shape[1] // k.shape[1]
    out = torch.zeros_like(q)
    for head in range(q.shape[1]):
        for i in range(q.shape[0]):
            seen = [j for j in range(q.shape[0]) if sees(i, j, mask)]
            weights = torch.softmax(k[seen, head // share] @ q[i, head] * scale, 0)
            out[i, head] = weights @ v[seen, head // share]
    return out.flatten(1)


def sees(query: int, key: int, mask: Mask) -> bool:
    left, right = mask.window or (10**6, 10**6)
    return -left <= key - query <= right and not (mask.causal and key > query)


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_attention_equals_its_definition_in_each_sequence_alone(mask: Mask, kv_heads: int) -> None:
    torch.manual_seed(5)
    q, k, v = torch.randn(TOKENS, 4, 8), torch.randn(TOKENS, kv_heads, 8), torch.randn(TOKENS, kv_heads, 8)
    out = TorchAttention()(q, k, v, GROUPS, mask, 0.3)
    assert out.shape == (TOKENS, 32)
    assert torch.allclose(out.double(), one_by_one(q, k, v, mask, 0.3), atol=1e-5)


def test_strided_views_of_one_packed_projection_are_taken_as_they_are() -> None:
    torch.manual_seed(6)
    q, k, v = torch.randn(TOKENS, 3, 4, 8).unbind(1)
    out = TorchAttention()(q, k, v, GROUPS, Mask(), 0.3)
    assert out.is_contiguous()
    assert torch.allclose(out.double(), one_by_one(q, k, v, Mask(), 0.3), atol=1e-5)


def test_an_unknown_backend_is_refused_with_those_that_are_known() -> None:
    assert choose_attention("auto").name == "torch"
    with pytest.raises(LoadError, match="'flash9' is not known; known are auto, torch"):
        choose_attention("flash9")


def test_rows_after_the_last_sequence_are_zeros_whatever_they_held() -> None:
    torch.manual_seed(7)
    q, k, v = torch.randn(TOKENS + 3, 3, 4, 8).unbind(1)
    expected = TorchAttention()(q[:TOKENS], k[:TOKENS], v[:TOKENS], GROUPS, Mask(), 0.3)
    for x in (q, k, v):
        x[TOKENS:] = float("nan")
    out = TorchAttention()(q, k, v, GROUPS, Mask(), 0.3)
    assert torch.equal(out[:TOKENS], expected)
    assert not out[TOKENS:].any()
