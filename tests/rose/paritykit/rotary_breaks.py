"""Ways to break rotary models, one thing at a time: each patches the layers on torch before a model is loaded."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from tulip_rose.rose.layers.attention import Mask, TorchAttention
from tulip_rose.rose.layers.gated import TorchGated
from tulip_rose.rose.layers.norm import TorchNorm, TorchRmsNorm
from tulip_rose.rose.layers.rope import Heads, Rope, TorchTurner, Turn
from tulip_rose.rose.layers.rotary import PreNormBlock, SandwichBlock
from tulip_rose.rose.models import gemma3, modernbert, nomic

Break = Callable[[pytest.MonkeyPatch], None]
ALL = ("gemma3", "modernbert", "nomic", "qwen3")
WINDOWED = ("gemma3", "modernbert")
NORMED = ("gemma3", "qwen3")


def _instead(owner: Any, name: str, make: Callable[[Any], Any]) -> Break:
    """What `make` makes of an attribute, in its place."""
    return lambda patch: patch.setattr(owner, name, make(getattr(owner, name)))


def _masked(change: Callable[[Mask], Mask], scale_by: float = 1.0) -> Break:
    """Another mask, or logits scaled once more."""

    def make(plain: Any) -> Any:
        def call(self: Any, q: Tensor, k: Tensor, v: Tensor, ragged: Any, mask: Mask, scale: float) -> Tensor:
            found: Tensor = plain(self, q, k, v, ragged, change(mask), scale * scale_by)
            return found

        return call

    return _instead(TorchAttention, "__call__", make)


def _window(left: int, right: int) -> Break:
    """Windows that are wider by so much to each side."""

    def change(mask: Mask) -> Mask:
        return replace(mask, window=mask.window and (mask.window[0] + left, mask.window[1] + right))

    return _masked(change)


def _turned(change: Callable[[Turn], Turn]) -> Break:
    """Other turns than those of the positions."""
    return _instead(Rope, "__call__", lambda plain: lambda self, positions: change(plain(self, positions)))


def _another_base(plain: Any) -> Any:
    return lambda self, base, *rest: plain(self, 1.1 * base, *rest)


def _in_neighbours(plain: Any) -> Any:
    def call(self: Any, qkv: Tensor, turn: Turn) -> Tensor:
        width, size = self._heads.turned, self._heads.size
        pairs = qkv[:, :width].unflatten(1, (-1, size // 2, 2)).transpose(2, 3).flatten(1)
        found: Tensor = plain(self, torch.cat((pairs, qkv[:, width:]), dim=1), turn)
        return found

    return call


def _keys_in_another_order(plain: Any) -> Any:
    def split(self: Any, qkv: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = plain(self, qkv)
        return q, k.flip(1), v

    return split


def _gate_below(self: Any, x: Tensor) -> Tensor:
    up, gate = self._both(x).chunk(2, dim=1)
    found: Tensor = self._activate(gate) * up
    return found


def _mean_kept(self: Any, x: Tensor, plus: Tensor | None = None) -> Tensor:
    x = x if plus is None else x + plus
    bias = 0.0 if self._bias is None else self._bias
    return functional.rms_norm(x, self._shape, self._weight, self._epsilon) + bias


def _as_pre_norm(self: Any, x: Tensor, ragged: Any, turn: Turn) -> Tensor:
    x = x + self.out(self.attention(self.attention_norm(x), ragged, turn))
    return x + self.down(self.feed(self.feed_norm(x)))


def _first_block_normed(plain: Any) -> Any:
    def make(*, attention_norm: Any, feed_norm: Any, **rest: Any) -> PreNormBlock:
        block: PreNormBlock = plain(attention_norm=attention_norm or feed_norm, feed_norm=feed_norm, **rest)
        return block

    return make


def _kinds_exchanged(plain: Any) -> Any:
    other = {gemma3.FULL: gemma3.SLIDING, gemma3.SLIDING: gemma3.FULL}
    return lambda config, kind, *rest: plain(config, other[kind], *rest)


def _both(*breaks: Break) -> Break:
    def apply(patch: pytest.MonkeyPatch) -> None:
        for each in breaks:
            each(patch)

    return apply


BREAKS: dict[str, tuple[tuple[str, ...], Break]] = {
    "causal where it is not, and the other way round": (
        ALL,
        _masked(lambda mask: replace(mask, causal=not mask.causal)),
    ),
    "no window": (WINDOWED, _masked(lambda mask: replace(mask, window=None))),
    "a token more to the left": (WINDOWED, _window(1, 0)),
    "a token more to the right": (WINDOWED, _window(0, 1)),
    "a token less on both sides": (WINDOWED, _window(-1, -1)),
    "windows and whole texts exchanged": (
        WINDOWED,
        _both(*(_instead(module, "_mask", _kinds_exchanged) for module in (gemma3, modernbert))),
    ),
    "bases of windows and whole texts exchanged": (
        WINDOWED,
        _both(*(_instead(module, "_rope", _kinds_exchanged) for module in (gemma3, modernbert))),
    ),
    "logits a tenth larger": (ALL, _masked(lambda mask: mask, 1.1)),
    "turned backwards": (ALL, _turned(lambda turn: Turn(turn.cos, -turn.sin))),
    "not turned": (ALL, _turned(lambda turn: Turn(torch.ones_like(turn.cos), torch.zeros_like(turn.sin)))),
    "another base": (ALL, _instead(Rope, "__init__", _another_base)),
    "pairs of neighbours": (ALL, _instead(TorchTurner, "__call__", _in_neighbours)),
    "queries and keys without norm": (
        NORMED,
        _instead(TorchTurner, "__init__", lambda plain: lambda self, heads: plain(self, replace(heads, weight=None))),
    ),
    "shared keys in another order": (NORMED, _instead(Heads, "split", _keys_in_another_order)),
    "gate and the other half exchanged": (ALL, _instead(TorchGated, "__call__", lambda _: _gate_below)),
    "norms that subtract the mean": (
        NORMED,
        _instead(TorchRmsNorm, "__call__", lambda plain: lambda self, x: plain(self, x - x.mean(-1, keepdim=True))),
    ),
    "norms that keep the mean": (("modernbert", "nomic"), _instead(TorchNorm, "__call__", lambda _: _mean_kept)),
    "a larger epsilon": (
        NORMED,
        _instead(TorchRmsNorm, "__init__", lambda plain: lambda self, weight, epsilon: plain(self, weight, 1e-2)),
    ),
    "weights of norms without one more": (("gemma3",), _instead(gemma3, "_PLUS", lambda _: 0.0)),
    "no norms after the halves": (("gemma3",), _instead(SandwichBlock, "__call__", lambda _: _as_pre_norm)),
    "a norm before the first attention": (("modernbert",), _instead(modernbert, "PreNormBlock", _first_block_normed)),
    "every token of the second type": (
        ("nomic",),
        _instead(nomic, "_types", lambda plain: lambda batch: plain(batch) + 1),
    ),
}
"""Of each break: the families that it breaks."""
