"""`TritonKit`: the layers of a CUDA device.

Whoever imports this file imports triton: a device does so when it has chosen the kit, and not before.
"""

from typing import cast

from torch import Tensor

from tulip_rose.rose.kernels.embedding import TritonEmbedding
from tulip_rose.rose.kernels.head import TritonHead
from tulip_rose.rose.kernels.linear import TritonGated, TritonLinear
from tulip_rose.rose.kernels.norm import TritonNorm
from tulip_rose.rose.kernels.post_norm import TritonPostNorm
from tulip_rose.rose.kernels.sandwich import TritonSandwich
from tulip_rose.rose.kernels.turn import TritonTurner
from tulip_rose.rose.layers.attention import Attention
from tulip_rose.rose.layers.block import Block, PostNormBlock
from tulip_rose.rose.layers.embedding import Embedding
from tulip_rose.rose.layers.gated import Gated
from tulip_rose.rose.layers.head import Head
from tulip_rose.rose.layers.linear import Activation, Linear
from tulip_rose.rose.layers.norm import Norm
from tulip_rose.rose.layers.places import Place, in_order
from tulip_rose.rose.layers.rope import Heads, Turner
from tulip_rose.rose.layers.rotary import RotaryBlock, SandwichBlock
from tulip_rose.rose.pooling_words import Poolings
from tulip_rose.rose.rows.row_module import RowModule


class TritonKit:
    """Triton's kernels between the vendor's products of matrices and an attention backend. See `Kit`.

    What a device has to know:

    - Every row of a step is computed, pads included: they are rows of a sequence of their own, as the padding law has
      it, and no kernel mixes rows of two sequences. Rows that no span covers are in no result.
    - Ids and places are not checked. One that is in no table makes its row NaN, and so the rows of its text.
    - Nothing is read on the host and no shape follows from a value, so a step can be captured. The first step of each
      dtype and size of model compiles, for seconds: it has to run before a capture, on the same buffers.
    - `part.bounds` may lie on the host where no step is captured, with `part.load` to bring them where states are;
      where one is, they lie there.
    - Weights are taken as they are, on their device; `wanting()` in `here` says why there can be no kit at all.
    """

    rounds = False

    def __init__(self, attention: Attention) -> None:
        """Take the attention that the device has chosen: of the layers, it alone is not made here."""
        self.attention = attention

    def linear(self, weight: Tensor, bias: Tensor | None, activation: Activation) -> Linear:
        """See `Kit`."""
        return TritonLinear(weight, bias, activation)

    def norm(self, weight: Tensor, bias: Tensor | None, epsilon: float) -> Norm:
        """See `Kit`."""
        return TritonNorm(weight, bias, epsilon, root=False)

    def gated(self, weight: Tensor, bias: Tensor | None, activation: Activation) -> Gated:
        """See `Kit`."""
        return TritonGated(weight, bias, activation)

    def rms_norm(self, weight: Tensor, epsilon: float) -> Norm:
        """See `Kit`."""
        return TritonNorm(weight, None, epsilon, root=True)

    def turner(self, heads: Heads) -> Turner:
        """See `Kit`."""
        return TritonTurner(heads)

    def embedding(self, words: Tensor, places: Tensor, norm: Norm, place: Place = in_order) -> Embedding:
        """See `Kit`."""
        return TritonEmbedding(words, places, cast(TritonNorm, norm), place)

    def head(self, poolings: Poolings, rows: tuple[RowModule, ...] = ()) -> Head:
        """See `Kit`."""
        return TritonHead(poolings, rows)

    def post_norm(self, parts: PostNormBlock) -> Block:
        """See `Kit`."""
        return TritonPostNorm(parts)

    def sandwich(self, parts: SandwichBlock) -> RotaryBlock:
        """See `Kit`."""
        return TritonSandwich(parts)
