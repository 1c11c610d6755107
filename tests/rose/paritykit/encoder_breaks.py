"""Ways to break encoders in the manner of BERT, one thing at a time: each patches the layers on torch."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from graphkit.batches import ragged_of
from paritykit.breaks import Break, entry, instead
from torch import Tensor
from torch.nn import functional
from tulip_rose.rose.inputs import Inputs, Ragged
from tulip_rose.rose.layers import linear, places
from tulip_rose.rose.layers.attention import Mask, TorchAttention
from tulip_rose.rose.layers.block import PostNormBlock
from tulip_rose.rose.layers.embedding import TorchEmbedding
from tulip_rose.rose.layers.linear import Activation, TorchLinear
from tulip_rose.rose.layers.norm import TorchNorm
from tulip_rose.rose.layers.places import Places
from tulip_rose.rose.models import mpnet, post_norm
from tulip_rose.rose.models.post_norm import PostNormModel
from tulip_rose.rose.models.taker import Taker

ALL = ("bert", "roberta", "distilbert", "mpnet")
COUNTED = ("roberta", "mpnet")


def _attending(change: Callable[[Mask], Mask], scale_by: float = 1.0, *, whole: bool = False) -> Break:
    """Another mask, logits scaled once more, or one sequence of all tokens."""

    def make(plain: Any) -> Any:
        def call(self: Any, q: Tensor, k: Tensor, v: Tensor, ragged: Ragged, mask: Mask, scale: float) -> Tensor:
            seen = ragged_of([ragged.tokens]) if whole else ragged
            found: Tensor = plain(self, q, k, v, seen, change(mask), scale * scale_by)
            return found

        return call

    return instead(TorchAttention, "__call__", make)


def _leaning(change: Callable[[Tensor], Tensor]) -> Break:
    """Another leaning by distance: of float32 [heads, distances]."""
    return instead(mpnet, "Bias", lambda plain: lambda by_distance: plain(change(by_distance).contiguous()))


def _placed(change: Callable[[Tensor], Tensor]) -> Break:
    """Other rows of the table of places."""
    return instead(Places, "__call__", lambda plain: lambda self, inputs: change(plain(self, inputs)))


def _told(change: Callable[[Inputs], Inputs]) -> Break:
    """Places of another batch."""
    return instead(Places, "__call__", lambda plain: lambda self, inputs: plain(self, change(inputs)))


def _renumbered(inputs: Inputs) -> Inputs:
    return replace(inputs, positions=torch.arange(inputs.positions.shape[0]))


def _types_exchanged(inputs: Inputs) -> Inputs:
    return replace(inputs, token_types=None if inputs.token_types is None else 1 - inputs.token_types)


def _padding_counted(inputs: Inputs, padding: int) -> Tensor:
    return inputs.positions + padding + 1


def _made_block(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Break:
    """A block of other parts."""
    return instead(post_norm, "PostNormBlock", lambda plain: lambda **parts: plain(**change(parts)))


def _norms_exchanged(parts: dict[str, Any]) -> dict[str, Any]:
    return {**parts, "attention_norm": parts["output_norm"], "output_norm": parts["attention_norm"]}


def _taken(order: list[int]) -> Break:
    """Queries, keys and values in another order."""

    def make(plain: Any) -> Any:
        def take(self: Any, names: list[str], *rest: Any, **more: Any) -> Any:
            return plain(self, [names[place] for place in order] if len(names) == 3 else names, *rest, **more)

        return take

    return instead(Taker, "linear", make)


def _heads_across(self: Any, x: Tensor, ragged: Ragged) -> Tensor:
    q, k, v = self.qkv(x).view(-1, 3, self.size, self.heads).transpose(2, 3).contiguous().unbind(1)
    x = self.attention_norm(self.out.add(self.attention(q, k, v, ragged, self.mask, self.scale), x))
    found: Tensor = self.output_norm(self.down.add(self.up(x), x))
    return found


def _mean_kept(self: Any, x: Tensor, plus: Tensor | None = None) -> Tensor:
    x = x if plus is None else x + plus
    return functional.rms_norm(x, self._shape, self._weight, self._epsilon) + self._bias


def _without_last(plain: Any) -> Any:
    def call(self: Any, inputs: Inputs) -> Tensor:
        blocks, self._blocks = self._blocks, self._blocks[:-1]
        found: Tensor = plain(self, inputs)
        self._blocks = blocks
        return found

    return call


def _not_normed(self: Any, inputs: Inputs) -> Tensor:
    return self._words[inputs.token_ids] + self._places[self._place(inputs)]


def _same(mask: Mask) -> Mask:
    return mask


BREAKS: dict[str, tuple[tuple[str, ...], Break]] = {
    "tokens do not see those after them": (ALL, _attending(lambda mask: replace(mask, causal=True))),
    "tokens see a window": (ALL, _attending(lambda mask: replace(mask, window=(9, 9)))),
    "texts see their neighbours": (("bert", "roberta", "distilbert"), _attending(_same, whole=True)),
    "logits a tenth larger": (ALL, _attending(_same, 1.1)),
    "logits not scaled": (ALL, _attending(_same, 4.0)),
    "queries and keys exchanged": (ALL, _taken([1, 0, 2])),
    "keys and values exchanged": (ALL, _taken([0, 2, 1])),
    "heads cut across": (ALL, instead(PostNormBlock, "__call__", lambda _: _heads_across)),
    "GELU by tanh": (ALL, entry(linear._FUSED, Activation.GELU, lambda _: ("gelu", [], "tanh"))),
    "no activation": (ALL, entry(linear._FUSED, Activation.GELU, lambda _: ("none", [], ""))),
    "nothing added to what a layer gives": (
        ALL,
        instead(TorchLinear, "add", lambda _: lambda self, x, residual: self(x)),
    ),
    "no biases": (
        ALL,
        instead(
            TorchLinear, "__init__", lambda plain: lambda self, weight, bias, *rest: plain(self, weight, None, *rest)
        ),
    ),
    "norms that keep the mean": (ALL, instead(TorchNorm, "__call__", lambda _: _mean_kept)),
    "norms exchanged": (ALL, _made_block(_norms_exchanged)),
    "a larger epsilon": (
        ALL,
        instead(
            TorchNorm, "__init__", lambda plain: lambda self, weight, bias, epsilon: plain(self, weight, bias, 1e-3)
        ),
    ),
    "no norm of the first states": (ALL, instead(TorchEmbedding, "__call__", lambda _: _not_normed)),
    "the last block left out": (ALL, instead(PostNormModel, "__call__", _without_last)),
    "places one further": (ALL, _placed(lambda rows: rows + 1)),
    "all tokens at one place": (ALL, _placed(lambda rows: rows * 0 + 3)),
    "places that go on in the next text": (ALL, _told(_renumbered)),
    "places from 0": (COUNTED, _placed(lambda rows: (rows - 2).clamp(min=0))),
    "padding is counted": (COUNTED, instead(places, "_counted", lambda _: _padding_counted)),
    "types left out": (("bert",), _told(lambda inputs: replace(inputs, token_types=None))),
    "types exchanged": (("bert",), _told(_types_exchanged)),
    "no leaning": (("mpnet",), _attending(lambda mask: replace(mask, bias=None))),
    "leaning to the other side": (("mpnet",), _leaning(lambda found: found.flip(1))),
    "leaning of another head": (("mpnet",), _leaning(lambda found: found.roll(1, 0))),
    "leaning scaled as logits are": (("mpnet",), _leaning(lambda found: found * 0.25)),
    "buckets that end sooner": (("mpnet",), instead(mpnet, "_FARTHEST", lambda _: 100)),
    "buckets of one side": (("mpnet",), instead(mpnet, "bucket", lambda plain: lambda found: plain(-found.abs()))),
}
"""Of each break: the families that it breaks."""
