"""Kernels that read the borders of sequences on the device: FlashAttention 4, and FlashAttention 2 as torch has it."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

import torch
from torch import Tensor

from tulip_rose.rose.backends.borders import Borders, LastBorders
from tulip_rose.rose.backends.table import FLASH4, VARLEN
from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.layers.attention import Mask

_ALL = -1
"""How torch says that a side has no window."""


class Kernel(Protocol):
    """One call of a library."""

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, borders: Borders, mask: Mask, scale: float) -> Tensor:
        """Attend: [T, heads, size], [T, kv_heads, size] twice, to [T, heads, size]."""


class VarlenAttention:
    """A kernel as a backend. See `Attention`."""

    def __init__(self, name: str, kernel: Kernel, device: torch.device) -> None:
        self.name = name
        self._kernel = kernel
        self._borders = LastBorders(device)

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, ragged: Ragged, mask: Mask, scale: float) -> Tensor:
        """See `Attention`."""
        out = self._kernel(q, k, v, self._borders.of(ragged), mask, scale)
        # No sequence owns these rows, so the kernel has not written them.
        out[ragged.tokens :].zero_()
        return out.flatten(1)

    @staticmethod
    def serves(mask: Mask, *, partly: bool) -> bool:
        """Whether it can.

        These kernels lay the last key that is seen under the last query, so that what is before and after a query
        means something else where keys at the end are left out. So beside windows all tokens of a text have to be
        seen, which nobody can check where lengths are known to the device alone.
        """
        return not partly or _sees_all(mask)


def flash_attention_4(device: torch.device) -> VarlenAttention:
    """FlashAttention 4.

    Raises:
        ImportError: it cannot be imported.
    """
    attend: Callable[..., Any] = import_module("flash_attn.cute").flash_attn_varlen_func

    def kernel(q: Tensor, k: Tensor, v: Tensor, borders: Borders, mask: Mask, scale: float) -> Tensor:
        made = attend(
            q,
            k,
            v,
            cu_seqlens_q=borders.starts,
            cu_seqlens_k=borders.starts,
            max_seqlen_q=borders.limit,
            max_seqlen_k=borders.limit,
            seqused_k=borders.seen if _sees_all(mask) else None,
            softmax_scale=scale,
            causal=mask.causal,
            window_size=_window(mask, None),
            # Keys of one text are never split among blocks: how they were would depend on its neighbours.
            num_splits=1,
        )
        # Some releases return the sums of the softmax beside the result, whether they are asked for or not.
        out: Tensor = made[0] if isinstance(made, tuple) else made
        return out

    return VarlenAttention(FLASH4, kernel, device)


def torch_varlen(device: torch.device) -> VarlenAttention:
    """FlashAttention 2 as torch has it, without the padding that its public function asks for."""

    def kernel(q: Tensor, k: Tensor, v: Tensor, borders: Borders, mask: Mask, scale: float) -> Tensor:
        left, right = _window(mask, _ALL)
        out: Tensor = torch.ops.aten._flash_attention_forward(
            q,
            k,
            v,
            borders.starts,
            borders.starts,
            borders.limit,
            borders.limit,
            0.0,
            mask.causal,
            False,
            scale=scale,
            window_size_left=left,
            window_size_right=right,
            seqused_k=borders.seen if _sees_all(mask) else None,
        )[0]
        return out

    return VarlenAttention(VARLEN, kernel, device)


def _sees_all(mask: Mask) -> bool:
    return mask.window is None and not mask.causal


def _window(mask: Mask, everything: int | None) -> tuple[int | None, int | None]:
    """Tokens before and after a query that are seen, besides itself; as the libraries count, `Mask` counts."""
    if mask.window is None:
        return everything, everything
    left, right = mask.window
    return left, 0 if mask.causal else right
