"""BERT: learned positions, post-norm encoder layers, attention to both sides."""

import torch
from torch import Tensor

from tulip_rose.rose.batch import Batch
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.layers.attention import Mask
from tulip_rose.rose.layers.block import Block, PostNormBlock
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.models.taker import Taker
from tulip_rose.rose.weights import Weights

_ACTIVATIONS = {"gelu": Activation.GELU, "gelu_new": Activation.GELU_TANH, "relu": Activation.RELU}
_UNUSED = (r"pooler\..*", r"embeddings\.position_ids")


class Bert:
    """`BertModel`. All tokens are of type 0, as in an input of one text."""

    prefix = "bert."

    def __init__(self, config: Config, weights: Weights, kit: Kit, device: torch.device) -> None:
        config.demand("position_embedding_type", "absolute")
        config.demand("is_decoder", False)
        self.hidden_size = hidden = config.integer("hidden_size")
        self.vocabulary_size = config.integer("vocab_size")
        self.positions = config.integer("max_position_embeddings")
        take = Taker(weights, kit, device)
        words = take("embeddings.word_embeddings.weight", self.vocabulary_size, hidden)
        positions = take("embeddings.position_embeddings.weight", self.positions, hidden)
        types = take("embeddings.token_type_embeddings.weight", config.integer("type_vocab_size"), hidden)
        epsilon = config.number("layer_norm_eps", 1e-12)
        norm = take.norm("embeddings.LayerNorm", hidden, epsilon)
        self._embedding = kit.embedding(words, positions + types[0], norm)
        layers = range(config.integer("num_hidden_layers"))
        self._blocks = [_block(config, take, f"encoder.layer.{index}", kit) for index in layers]
        weights.finish(_UNUSED)

    def __call__(self, batch: Batch) -> Tensor:
        """States of all tokens, [T, hidden]."""
        x = self._embedding(batch)
        for block in self._blocks:
            x = block(x, batch.ragged)
        return x


def _block(config: Config, take: Taker, name: str, kit: Kit) -> Block:
    hidden, inner = config.integer("hidden_size"), config.integer("intermediate_size")
    heads = config.integer("num_attention_heads")
    if hidden % heads:
        raise LoadError(f"{config.where}: num_attention_heads {heads} does not divide hidden_size {hidden}")
    activation = _ACTIVATIONS[config.demand("hidden_act", *_ACTIVATIONS)]
    epsilon = config.number("layer_norm_eps", 1e-12)
    packed = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
    parts = PostNormBlock(
        qkv=take.linear(packed, hidden, hidden),
        out=take.linear([f"{name}.attention.output.dense"], hidden, hidden),
        attention_norm=take.norm(f"{name}.attention.output.LayerNorm", hidden, epsilon),
        up=take.linear([f"{name}.intermediate.dense"], inner, hidden, activation),
        down=take.linear([f"{name}.output.dense"], hidden, inner),
        output_norm=take.norm(f"{name}.output.LayerNorm", hidden, epsilon),
        attention=kit.attention,
        heads=heads,
        size=hidden // heads,
        mask=Mask(),
        scale=(hidden // heads) ** -0.5,
    )
    return kit.post_norm(parts)
