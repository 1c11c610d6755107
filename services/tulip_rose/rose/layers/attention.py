"""Attention over ragged sequences, behind one small protocol; a backend is chosen at load."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.inputs import Group, Ragged
from tulip_rose.rose.layers.bias import Bias


@dataclass(frozen=True, slots=True)
class Mask:
    """Which keys a query sees within its own sequence, and which of them it leans to."""

    causal: bool = False
    """Keys after the query are hidden."""
    window: tuple[int, int] | None = None
    """Tokens to the left and right that are seen; None: all."""
    bias: Bias | None = field(default=None, compare=False)
    """Of all the heads of queries; reaches over the longest sequence."""


class Attention(Protocol):
    """A backend: softmax(q kᵀ · scale + bias) v in each sequence alone."""

    name: str

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, ragged: Ragged, mask: Mask, scale: float) -> Tensor:
        """Attend.

        Args:
            q: [T, heads, size]; may be a strided view.
            k: [T, kv_heads, size]; heads is a multiple of kv_heads.
            v: as k.
            ragged: the sequences, from the first row on.
            mask: the same for all heads.
            scale: of the logits.

        Returns:
            [T, heads · size], contiguous; zeros in rows after the last sequence.
        """


class TorchAttention:
    """torch's attention, one call for all sequences of one length: no padding, no mask to build.

    On CPU it is done in float32: torch's kernel is slower in bfloat16 (531 against 464 µs for 12 heads of 32 and 128
    tokens, the conversions included).
    """

    name = "torch"

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, ragged: Ragged, mask: Mask, scale: float) -> Tensor:
        """See `Attention`."""
        out = torch.empty_like(q, memory_format=torch.contiguous_format)
        if q.device.type == "cpu":
            q, k, v = q.float(), k.float(), v.float()
        for group, seen in ragged.views:
            keys, values = (_dense(x, group)[:, :, :seen] for x in (k, v))
            _dense(out, group).copy_(_attend(_dense(q, group), keys, values, mask=mask, scale=scale))
        out[ragged.tokens :].zero_()
        return out.flatten(1)


def _dense(x: Tensor, group: Group) -> Tensor:
    """The sequences of one length, as a view [count, heads, length, size]."""
    return x[group.begin : group.end].view(group.count, group.length, *x.shape[1:]).transpose(1, 2)


def _attend(q: Tensor, k: Tensor, v: Tensor, *, mask: Mask, scale: float) -> Tensor:
    """[count, heads, length, size], as `_dense` gives it, to the same; of keys and values there may be fewer."""
    added = _added(q.shape[2], mask, q)
    added = None if added is None else added[..., : k.shape[2]]
    causal = mask.causal and added is None
    shared = q.shape[1] != k.shape[1]
    return functional.scaled_dot_product_attention(
        q, k, v, attn_mask=added, is_causal=causal, scale=scale, enable_gqa=shared
    )


def _added(length: int, mask: Mask, like: Tensor) -> Tensor | None:
    """What to add to logits, or who sees whom; None where it is nothing or causality alone."""
    band = None if mask.window is None and mask.bias is None else _band(length, mask, like.device)
    if mask.bias is None:
        return band
    bias = mask.bias.square(length).to(like.dtype)
    return bias if band is None else bias.masked_fill(~band, float("-inf"))


def _band(length: int, mask: Mask, device: torch.device) -> Tensor | None:
    """Who sees whom within a window: bool [length, length]; None where everybody does."""
    left, right = mask.window or (length, length)
    if mask.causal:
        right = 0
    if left >= length - 1 and right >= length - 1:
        return None
    at = torch.arange(length, device=device)
    distance = at[None, :] - at[:, None]
    return (distance >= -left) & (distance <= right)


def choose(name: str, backends: Mapping[str, Attention]) -> Attention:
    """The backend of that name; `auto` takes the first.

    Raises:
        LoadError: no such backend; lists those there are.
    """
    if name == "auto":
        return next(iter(backends.values()))
    if name not in backends:
        raise LoadError(f"attentionBackend {name!r} is not known here; known are auto, {', '.join(backends)}")
    return backends[name]
