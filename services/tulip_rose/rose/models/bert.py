"""BERT: learned positions, post-norm encoder layers, attention to both sides."""

import torch
from torch import Tensor
from torch.nn import functional

from tulip_rose.rose.batch import Batch
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.layers.attention import Mask
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.models.taker import Taker
from tulip_rose.rose.weights import Weights

_ACTIVATIONS = {"gelu": Activation.GELU, "gelu_new": Activation.GELU_TANH, "relu": Activation.RELU}
_UNUSED = (r"pooler\..*", r"embeddings\.position_ids")
_EVERYTHING = Mask()


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
        self._words = take("embeddings.word_embeddings.weight", self.vocabulary_size, hidden)
        positions = take("embeddings.position_embeddings.weight", self.positions, hidden)
        types = take("embeddings.token_type_embeddings.weight", config.integer("type_vocab_size"), hidden)
        self._positions = positions + types[0]
        epsilon = config.number("layer_norm_eps", 1e-12)
        self._norm = take.norm("embeddings.LayerNorm", hidden, epsilon)
        layers = range(config.integer("num_hidden_layers"))
        self._layers = [BertLayer(config, take, f"encoder.layer.{index}", kit) for index in layers]
        weights.finish(_UNUSED)

    def __call__(self, batch: Batch) -> Tensor:
        """States of all tokens, [T, hidden]."""
        words = functional.embedding(batch.token_ids, self._words)
        x = self._norm(words, functional.embedding(batch.positions, self._positions))
        for layer in self._layers:
            x = layer(x, batch)
        return x


class BertLayer:
    """Attention and feed-forward, each followed by the add of its input and a norm."""

    def __init__(self, config: Config, take: Taker, name: str, kit: Kit) -> None:
        hidden, inner = config.integer("hidden_size"), config.integer("intermediate_size")
        self._heads = config.integer("num_attention_heads")
        if hidden % self._heads:
            raise LoadError(f"{config.where}: num_attention_heads {self._heads} does not divide hidden_size {hidden}")
        self._size = hidden // self._heads
        self._scale = self._size**-0.5
        self._attention = kit.attention
        activation = _ACTIVATIONS[config.demand("hidden_act", *_ACTIVATIONS)]
        epsilon = config.number("layer_norm_eps", 1e-12)
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        self._qkv = take.linear(parts, hidden, hidden)
        self._out = take.linear([f"{name}.attention.output.dense"], hidden, hidden)
        self._attention_norm = take.norm(f"{name}.attention.output.LayerNorm", hidden, epsilon)
        self._up = take.linear([f"{name}.intermediate.dense"], inner, hidden, activation)
        self._down = take.linear([f"{name}.output.dense"], hidden, inner)
        self._output_norm = take.norm(f"{name}.output.LayerNorm", hidden, epsilon)

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        """[T, hidden] → [T, hidden]."""
        q, k, v = self._qkv(x).view(-1, 3, self._heads, self._size).unbind(1)
        attended = self._attention(q, k, v, batch.ragged, _EVERYTHING, self._scale)
        x = self._attention_norm(self._out.add(attended, x))
        return self._output_norm(self._down.add(self._up(x), x))
