"""BERT: positions from the first token on, two types of tokens."""

import torch

from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.places import Places
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.models.post_norm import Names, PostNormModel, Shape
from tulip_rose.rose.models.taker import Taker
from tulip_rose.rose.weights import Weights

NAMES = Names(
    qkv=("attention.self.query", "attention.self.key", "attention.self.value"),
    out="attention.output.dense",
    attention_norm="attention.output.LayerNorm",
    up="intermediate.dense",
    down="output.dense",
    output_norm="output.LayerNorm",
)
UNUSED = (r"pooler\..*", r"embeddings\.(position|token_type)_ids")


class Bert(PostNormModel):
    """`BertModel`."""

    prefix = "bert."

    def __init__(self, config: Config, weights: Weights, kit: Kit, device: torch.device) -> None:
        config.demand("position_embedding_type", "absolute")
        config.demand("is_decoder", False)
        places = Places(config.integer("max_position_embeddings"), config.integer("type_vocab_size", 2))
        super().__init__(Shape.of(config), places, NAMES, "encoder.layer", Taker(weights, kit, device), kit)
        weights.finish(UNUSED)
