"""`Kit`: the layers that a model is built of, as a device has them."""

from typing import Protocol

import torch
from torch import Tensor

from tulip_rose.rose.layers.attention import Attention, TorchAttention, choose
from tulip_rose.rose.layers.block import Block, PostNormBlock
from tulip_rose.rose.layers.embedding import Embedding, TorchEmbedding
from tulip_rose.rose.layers.gated import Gated, TorchGated
from tulip_rose.rose.layers.head import Head, TorchHead
from tulip_rose.rose.layers.linear import Activation, Linear, TorchLinear
from tulip_rose.rose.layers.native import NativeAttention, NativeLinear, NativeNorm
from tulip_rose.rose.layers.native_block import NativePostNorm
from tulip_rose.rose.layers.native_ends import NativeEmbedding, NativeHead
from tulip_rose.rose.layers.native_rotary import NativeGated, NativeRmsNorm, NativeTurner
from tulip_rose.rose.layers.norm import Norm, TorchNorm, TorchRmsNorm
from tulip_rose.rose.layers.places import Place, in_order
from tulip_rose.rose.layers.rope import Heads, TorchTurner, Turner
from tulip_rose.rose.layers.rotary import RotaryBlock, SandwichBlock
from tulip_rose.rose.native.library import Team
from tulip_rose.rose.pooling_words import Poolings
from tulip_rose.rose.rows.row_module import RowModule


class Kit(Protocol):
    """Makes layers of loaded tensors, which lie on its device."""

    attention: Attention
    rounds: bool
    """Whether each number of rows costs something when it is met first, so that few different ones are better."""

    def linear(self, weight: Tensor, bias: Tensor | None, activation: Activation) -> Linear:
        """A linear layer; weight [out, in], bias [out]."""

    def norm(self, weight: Tensor, bias: Tensor | None, epsilon: float) -> Norm:
        """A layer norm; weight and bias [H]."""

    def gated(self, weight: Tensor, bias: Tensor | None, activation: Activation) -> Gated:
        """The wide half of a gated feed-forward; weight [2 · out, in] and bias [2 · out], those of the gate first."""

    def rms_norm(self, weight: Tensor, epsilon: float) -> Norm:
        """A norm by the root of the mean square; weight float32 [H]."""

    def turner(self, heads: Heads) -> Turner:
        """What norms and turns queries and keys."""

    def embedding(self, words: Tensor, places: Tensor, norm: Norm, place: Place = in_order) -> Embedding:
        """The first states; tables [vocabulary, H] and [places, H], and a norm that this kit has made."""

    def head(self, poolings: Poolings, rows: tuple[RowModule, ...] = ()) -> Head:
        """Dense rows: pooled, then through these modules, in their order."""

    def post_norm(self, parts: PostNormBlock) -> Block:
        """The block of these parts, which this kit has made, in the fewest steps that there are."""

    def sandwich(self, parts: SandwichBlock) -> RotaryBlock:
        """As `post_norm`; the norms are by the root of the mean square."""


class TorchKit:
    """Torch's layers, on any device."""

    def __init__(self, device: torch.device, attention: str | Attention) -> None:
        """`attention` is a backend, or names one of torch's, or is auto.

        Raises:
            LoadError: no such backend.
        """
        named = {TorchAttention.name: TorchAttention()}
        self.attention: Attention = choose(attention, named) if isinstance(attention, str) else attention
        self.rounds = device.type == "cpu"

    def linear(self, weight: Tensor, bias: Tensor | None, activation: Activation) -> Linear:
        """See `Kit`."""
        return TorchLinear(weight, bias, activation)

    def norm(self, weight: Tensor, bias: Tensor | None, epsilon: float) -> Norm:
        """See `Kit`."""
        return TorchNorm(weight, bias, epsilon)

    def gated(self, weight: Tensor, bias: Tensor | None, activation: Activation) -> Gated:
        """See `Kit`."""
        return TorchGated(self.linear(weight, bias, Activation.NONE), activation)

    def rms_norm(self, weight: Tensor, epsilon: float) -> Norm:
        """See `Kit`."""
        return TorchRmsNorm(weight, epsilon)

    def turner(self, heads: Heads) -> Turner:
        """See `Kit`."""
        return TorchTurner(heads)

    def embedding(self, words: Tensor, places: Tensor, norm: Norm, place: Place = in_order) -> Embedding:
        """See `Kit`."""
        return TorchEmbedding(words, places, norm, place)

    def head(self, poolings: Poolings, rows: tuple[RowModule, ...] = ()) -> Head:
        """See `Kit`."""
        return TorchHead(poolings, rows)

    def post_norm(self, parts: PostNormBlock) -> Block:
        """See `Kit`."""
        return parts

    def sandwich(self, parts: SandwichBlock) -> RotaryBlock:
        """See `Kit`."""
        return parts


class NativeKit:
    """Our own kernels, on CPUs that can run them."""

    rounds = False

    def __init__(self, team: Team, attention: str) -> None:
        """`attention` names a backend, or is auto.

        Raises:
            LoadError: no such backend.
        """
        self._team = team
        plain = TorchAttention()
        native = NativeAttention(team, plain)
        self.attention: Attention = choose(attention, {native.name: native, plain.name: plain})

    def linear(self, weight: Tensor, bias: Tensor | None, activation: Activation) -> Linear:
        """See `Kit`."""
        if weight.dtype == torch.bfloat16 and weight.shape[1] % 2:
            return TorchLinear(weight, bias, activation)
        return NativeLinear(self._team, weight, bias, activation)

    def norm(self, weight: Tensor, bias: Tensor | None, epsilon: float) -> Norm:
        """See `Kit`."""
        return NativeNorm(self._team, weight, bias, epsilon)

    def gated(self, weight: Tensor, bias: Tensor | None, activation: Activation) -> Gated:
        """See `Kit`."""
        if weight.dtype == torch.bfloat16 and weight.shape[1] % 2:
            return TorchGated(self.linear(weight, bias, Activation.NONE), activation)
        return NativeGated(self._team, weight, bias, activation)

    def rms_norm(self, weight: Tensor, epsilon: float) -> Norm:
        """See `Kit`."""
        return NativeRmsNorm(self._team, weight, epsilon)

    def turner(self, heads: Heads) -> Turner:
        """See `Kit`."""
        return NativeTurner(self._team, heads)

    def embedding(self, words: Tensor, places: Tensor, norm: Norm, place: Place = in_order) -> Embedding:
        """See `Kit`."""
        return NativeEmbedding(self._team, words, places, norm, place)

    def head(self, poolings: Poolings, rows: tuple[RowModule, ...] = ()) -> Head:
        """See `Kit`."""
        plain = TorchHead(poolings, rows)
        return NativeHead(self._team, poolings[0], plain) if NativeHead.serves(poolings, rows) else plain

    def post_norm(self, parts: PostNormBlock) -> Block:
        """See `Kit`."""
        return NativePostNorm(self._team, parts) if NativePostNorm.serves(parts) else parts

    def sandwich(self, parts: SandwichBlock) -> RotaryBlock:
        """See `Kit`."""
        return parts
