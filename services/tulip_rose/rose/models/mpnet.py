"""MPNet: positions counted as in RoBERTa, no types, and a leaning of attention by the distance between tokens."""

import math

import torch
from torch import Tensor

from tulip_rose.rose.layers.attention import Mask
from tulip_rose.rose.layers.bias import Bias
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.places import Places
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.models.post_norm import Names, PostNormModel, Shape
from tulip_rose.rose.models.taker import Taker
from tulip_rose.rose.weights import Weights

_NAMES = Names(
    qkv=("attention.attn.q", "attention.attn.k", "attention.attn.v"),
    out="attention.attn.o",
    attention_norm="attention.LayerNorm",
    up="intermediate.dense",
    down="output.dense",
    output_norm="output.LayerNorm",
)
_PADDING = 1
"""The architecture has it built in, whatever a config says."""
_BUCKETS = 32
_FARTHEST = 128
"""From this distance on all tokens to one side share a bucket."""


class MPNet(PostNormModel):
    """`MPNetModel`."""

    prefix = "mpnet."

    def __init__(self, config: Config, weights: Weights, kit: Kit, device: torch.device) -> None:
        config.demand("relative_attention_num_buckets", _BUCKETS)
        shape = Shape.of(config)
        places = Places(config.integer("max_position_embeddings"), padding=_PADDING)
        take = Taker(weights, kit, device)
        table = take("encoder.relative_attention_bias.weight", _BUCKETS, shape.heads).float()
        reach = max(places.longest - 1, 0)
        distances = torch.arange(-reach, reach + 1, device=device)
        mask = Mask(bias=Bias(table[bucket(distances)].T.contiguous()))
        super().__init__(shape, places, _NAMES, "encoder.layer", take, kit, mask)
        weights.finish((r"pooler\..*", r"embeddings\.position_ids"))


def bucket(distances: Tensor) -> Tensor:
    """The bucket of each distance from query to key: half of them for keys after the query.

    Of each half, a half again is for small distances, one each; the rest grow as the logarithm does.
    """
    half, small = _BUCKETS // 2, _BUCKETS // 4
    after, far = distances > 0, distances.abs()
    # In float32, as where the models were trained: a border that is rounded otherwise is another bucket.
    grown = torch.log(far.clamp(min=1).float() / small) / math.log(_FARTHEST / small) * (half - small)
    large = (small + grown.long()).clamp(max=half - 1)
    return torch.where(far < small, far, large) + half * after
