"""DistilBERT: BERT without types of tokens, under names of its own."""

import torch

from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.places import Places
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.models.post_norm import Names, PostNormModel, Shape, activation_of, heads_of
from tulip_rose.rose.models.taker import Taker
from tulip_rose.rose.weights import Weights

_NAMES = Names(
    qkv=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    out="attention.out_lin",
    attention_norm="sa_layer_norm",
    up="ffn.lin1",
    down="ffn.lin2",
    output_norm="output_layer_norm",
)
_EPSILON = 1e-12


class DistilBert(PostNormModel):
    """`DistilBertModel`. Positions that were sines lie in the file as a table, as those that were learned."""

    prefix = "distilbert."

    def __init__(self, config: Config, weights: Weights, kit: Kit, device: torch.device) -> None:
        places = Places(config.integer("max_position_embeddings"))
        super().__init__(_shape(config), places, _NAMES, "transformer.layer", Taker(weights, kit, device), kit)
        weights.finish((r"embeddings\.position_ids",))


def _shape(config: Config) -> Shape:
    hidden = config.spelling("dim", "hidden_size")
    return Shape(
        vocabulary=config.integer("vocab_size"),
        hidden=config.integer(hidden),
        inner=config.integer(config.spelling("hidden_dim", "intermediate_size")),
        heads=heads_of(config, config.spelling("n_heads", "num_attention_heads"), hidden),
        layers=config.integer(config.spelling("n_layers", "num_hidden_layers")),
        epsilon=_EPSILON,
        activation=activation_of(config, config.spelling("activation", "hidden_act")),
    )
