"""What each backend passes to its library, and that the library's own words give our masks."""

from itertools import pairwise
from typing import Any

import pytest
import torch
from backendkit.stand_ins import FlashAttention, Wrapper
from graphkit.batches import ragged_of
from torch import Tensor
from tulip_rose.rose.backends.borders import limit
from tulip_rose.rose.backends.ragged_prefill import RaggedPrefill
from tulip_rose.rose.backends.table import FA2, FA3
from tulip_rose.rose.backends.varlen import flash_attention_4, torch_varlen
from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.layers.attention import Attention, Mask, TorchAttention

CPU = torch.device("cpu")
RAGGED = ragged_of([1, 5, 5, 9, 20])
PARTLY = ragged_of([3, 6, 6, 8], [3, 4, 6, 5])
TO_BOTH_SIDES = [Mask(window=(2, 2)), Mask(window=(4, 1)), Mask(window=(100, 100))]
TO_THE_LEFT = [Mask(), Mask(causal=True), Mask(causal=True, window=(3, 0)), Mask(causal=True, window=(3, 3))]


def heads(tokens: int, count: int, size: int) -> Tensor:
    return torch.randn(tokens, count, size).bfloat16()


def is_ours(attention: Attention, mask: Mask, size: int = 32, kv_heads: int = 2, ragged: Ragged = RAGGED) -> None:
    """The same as torch's own attention, which is tested against the definition."""
    torch.manual_seed(11)
    q, k, v = heads(ragged.tokens, 4, size), heads(ragged.tokens, kv_heads, size), heads(ragged.tokens, kv_heads, size)
    out = attention(q, k, v, ragged, mask, 0.3)
    expected = TorchAttention()(q, k, v, ragged, mask, 0.3)
    assert out.shape == (ragged.tokens, 4 * size)
    assert out.is_contiguous()
    assert out.dtype == torch.bfloat16
    assert (out.float() - expected.float()).abs().max() < 3e-2


@pytest.mark.parametrize("mask", TO_THE_LEFT + TO_BOTH_SIDES, ids=str)
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_flash_attention_4_sees_what_a_mask_says(flash: FlashAttention, mask: Mask, kv_heads: int) -> None:
    is_ours(flash_attention_4(CPU), mask, kv_heads=kv_heads)


@pytest.mark.parametrize("mask", TO_THE_LEFT + TO_BOTH_SIDES, ids=str)
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_torchs_kernel_sees_what_a_mask_says(kernel: list[dict[str, Any]], mask: Mask, kv_heads: int) -> None:
    is_ours(torch_varlen(CPU), mask, kv_heads=kv_heads)
    assert [(call["dropout"], call["causal"]) for call in kernel] == [(0.0, mask.causal)]


@pytest.mark.parametrize("mask", [*TO_THE_LEFT, Mask(window=(3, 0))], ids=str)
@pytest.mark.parametrize("size", [32, 64, 80, 128, 256])
@pytest.mark.parametrize("name", [FA3, FA2])
def test_flashinfer_sees_what_a_mask_says_with_heads_of_any_size(
    wrappers: list[Wrapper], mask: Mask, size: int, name: str
) -> None:
    is_ours(RaggedPrefill(name, CPU), mask, size=size)
    assert {wrapper.given["backend"] for wrapper in wrappers} == {{FA3: "fa3", FA2: "fa2"}[name]}


def test_heads_of_32_are_widened_to_64_and_scaled_as_heads_of_32(wrappers: list[Wrapper]) -> None:
    is_ours(RaggedPrefill(FA2, CPU), Mask(), size=32)
    [planned] = [call for wrapper in wrappers for call in wrapper.plans]
    assert (planned["head_dim_qk"], planned["sm_scale"]) == (64, 0.3)


def test_a_plan_says_what_the_library_would_take_otherwise(wrappers: list[Wrapper]) -> None:
    is_ours(RaggedPrefill(FA2, CPU), Mask())
    [planned] = [call for wrapper in wrappers for call in wrapper.plans]
    assert planned["q_data_type"] == torch.bfloat16
    assert planned["disable_split_kv"] is True


def test_keys_of_a_text_are_never_split_in_flash_attention_4(flash: FlashAttention) -> None:
    is_ours(flash_attention_4(CPU), Mask())
    assert [call["num_splits"] for call in flash.calls] == [1]


@pytest.mark.parametrize("opened", [flash_attention_4, torch_varlen])
def test_tokens_that_nobody_sees_are_left_out_where_all_others_are_seen(
    flash: FlashAttention, kernel: list[dict[str, Any]], opened: Any
) -> None:
    assert opened(CPU).serves(Mask(), partly=True)
    is_ours(opened(CPU), Mask(), ragged=PARTLY)


@pytest.mark.parametrize("mask", [Mask(causal=True), Mask(window=(2, 2))], ids=str)
def test_nothing_serves_tokens_that_nobody_sees_beside_windows(
    flash: FlashAttention, wrappers: list[Wrapper], mask: Mask
) -> None:
    backends = flash_attention_4(CPU), torch_varlen(CPU), RaggedPrefill(FA3, CPU)
    assert all(each.serves(mask, partly=False) and not each.serves(mask, partly=True) for each in backends)
    assert not RaggedPrefill(FA3, CPU).serves(Mask(), partly=True)


@pytest.mark.parametrize("which", [flash_attention_4, torch_varlen, lambda device: RaggedPrefill(FA2, device)])
def test_rows_after_the_last_sequence_are_zeros_whatever_they_held(
    flash: FlashAttention, kernel: list[dict[str, Any]], wrappers: list[Wrapper], which: Any
) -> None:
    torch.manual_seed(12)
    attention, tokens = which(CPU), RAGGED.tokens
    q, k, v = torch.randn(tokens + 3, 3, 4, 64).bfloat16().unbind(1)
    for x in (q, k, v):
        x[tokens:] = float("nan")
    out = attention(q, k, v, RAGGED, Mask(), 0.3)
    assert torch.isfinite(out).all()
    assert not out[tokens:].any()


@pytest.mark.parametrize("mask", TO_THE_LEFT + TO_BOTH_SIDES, ids=str)
@pytest.mark.parametrize("opened", [flash_attention_4, torch_varlen])
def test_lengths_that_only_the_device_knows_are_read_there(
    flash: FlashAttention, kernel: list[dict[str, Any]], opened: Any, mask: Mask
) -> None:
    torch.manual_seed(13)
    rows = RAGGED.tokens + 8
    starts = torch.tensor([*RAGGED.starts.tolist(), rows, rows, rows], dtype=torch.int32)
    static = Ragged(starts, rows, rows, seen=starts.diff())
    q, k, v = torch.randn(rows, 3, 4, 32).bfloat16().unbind(1)
    out = opened(CPU)(q, k, v, static, mask, 0.3)
    alone = opened(CPU)(*(x[: RAGGED.tokens] for x in (q, k, v)), RAGGED, mask, 0.3)
    assert torch.equal(out[: RAGGED.tokens], alone)
    starts.copy_(torch.tensor([0, 4, 4, 4, 4, rows, rows, rows, rows]))
    static.seen.copy_(starts.diff())
    again = opened(CPU)(q, k, v, static, mask, 0.3)
    assert torch.equal(again[:4], opened(CPU)(*(x[:4] for x in (q, k, v)), ragged_of([4]), mask, 0.3))


def test_borders_are_copied_once_for_all_layers_of_a_batch(flash: FlashAttention) -> None:
    attention = flash_attention_4(CPU)
    others = ragged_of([2, 3])
    for ragged in (RAGGED, RAGGED, others, RAGGED):
        is_ours(attention, Mask(), ragged=ragged)
    used = [call["cu_seqlens_q"] for call in flash.calls]
    assert used[0] is used[1]
    assert used[2].tolist() == [0, 2, 5]
    assert used[3].tolist() == RAGGED.starts.tolist()


def test_limits_are_powers_of_two_that_hold_the_longest(kernel: list[dict[str, Any]]) -> None:
    limits = [limit(length) for length in range(1, 5000)]
    assert all(low <= high < 2 * low for low, high in enumerate(limits, 1))
    assert all(high in (low, 2 * low) for low, high in pairwise(limits))
    is_ours(torch_varlen(CPU), Mask())
    assert [call["limit"] for call in kernel] == [32]


def test_a_batch_is_planned_once_for_all_layers_of_a_kind(wrappers: list[Wrapper]) -> None:
    attention = RaggedPrefill(FA3, CPU)
    for mask in (Mask(), Mask(causal=True), Mask(), Mask(causal=True)):
        is_ours(attention, mask)
    assert [(len(each.plans), each.runs) for each in wrappers if each.plans] == [(1, 2), (1, 2)]


def test_a_wrapper_is_planned_again_only_for_the_third_batch_after_it(wrappers: list[Wrapper]) -> None:
    attention = RaggedPrefill(FA2, CPU)
    lengths = [[1, 2], [3], [4, 5], [6], [7, 7]]
    for each in lengths:
        is_ours(attention, Mask(), ragged=ragged_of(each))
    ends = [[call["qo_indptr"].tolist()[-1] for call in wrapper.plans] for wrapper in wrappers]
    assert ends == [[3, 6], [3, 14], [9]]


def test_wrappers_share_one_workspace(wrappers: list[Wrapper]) -> None:
    attention = RaggedPrefill(FA2, CPU)
    for mask in (Mask(), Mask(causal=True)):
        is_ours(attention, mask)
    assert len({wrapper.given["float_workspace_buffer"].data_ptr() for wrapper in wrappers}) == 1
