"""`TritonPostNorm`: a block in the manner of BERT, whose adds are parts of its norms."""

from torch import Tensor

from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.layers.block import PostNormBlock


class TritonPostNorm:
    """See `Block`."""

    def __init__(self, parts: PostNormBlock) -> None:
        self._parts = parts

    def __call__(self, x: Tensor, ragged: Ragged) -> Tensor:
        """See `Block`."""
        own = self._parts
        q, k, v = own.qkv(x).view(-1, 3, own.heads, own.size).unbind(1)
        attended = own.attention(q, k, v, ragged, own.mask, own.scale)
        x = own.attention_norm(own.out(attended), x)
        return own.output_norm(own.down(own.up(x)), x)
