"""`PostNormModel`: an encoder in the manner of BERT, with learned places, post-norm blocks, attention to both sides.

Families differ in the names of their tensors, in how they count positions, and in what else attention sees.
"""

from dataclasses import dataclass

from torch import Tensor

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.layers.attention import Mask
from tulip_rose.rose.layers.block import Block, PostNormBlock
from tulip_rose.rose.layers.embedding import Embedding
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.layers.places import Places
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.models.taker import Taker

_ACTIVATIONS = {
    **dict.fromkeys(("gelu", "gelu_python"), Activation.GELU),
    **dict.fromkeys(("gelu_new", "gelu_fast", "gelu_pytorch_tanh"), Activation.GELU_TANH),
    **dict.fromkeys(("silu", "swish"), Activation.SILU),
    "relu": Activation.RELU,
}
_ALL = Mask()


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of an encoder."""

    vocabulary: int
    hidden: int
    inner: int
    heads: int
    layers: int
    epsilon: float
    activation: Activation

    @classmethod
    def of(cls, config: Config) -> "Shape":
        """As most families spell it.

        Raises:
            LoadError: a size is missing, or they do not go together.
        """
        return cls(
            vocabulary=config.integer("vocab_size"),
            hidden=config.integer("hidden_size"),
            inner=config.integer("intermediate_size"),
            heads=heads_of(config, "num_attention_heads", "hidden_size"),
            layers=config.integer("num_hidden_layers"),
            epsilon=config.number("layer_norm_eps", 1e-12),
            activation=activation_of(config, "hidden_act"),
        )


def heads_of(config: Config, key: str, hidden_key: str) -> int:
    """How many heads share the hidden size.

    Raises:
        LoadError: they cannot.
    """
    heads, hidden = config.integer(key), config.integer(hidden_key)
    if hidden % heads:
        raise LoadError(f"{config.where}: {key} {heads} does not divide {hidden_key} {hidden}")
    return heads


def activation_of(config: Config, key: str) -> Activation:
    """What follows the first layer of the feed-forward.

    Raises:
        LoadError: it is not known.
    """
    return _ACTIVATIONS[config.demand(key, *_ACTIVATIONS)]


@dataclass(frozen=True, slots=True)
class Names:
    """Of the tensors of a layer, after the layer's own name."""

    qkv: tuple[str, str, str]
    out: str
    attention_norm: str
    up: str
    down: str
    output_norm: str


class PostNormModel:
    """An encoder of equal layers. See `Model`."""

    def __init__(
        self, shape: Shape, places: Places, names: Names, layers: str, take: Taker, kit: Kit, mask: Mask = _ALL
    ) -> None:
        """Take all tensors; `layers` is what the names of the layers begin with."""
        self.hidden_size = shape.hidden
        self.vocabulary_size = shape.vocabulary
        self.positions = places.longest
        self.token_types = places.types
        self._embedding = _embedding(shape, places, take, kit)
        self._blocks = [_block(shape, names, f"{layers}.{index}", mask, take, kit) for index in range(shape.layers)]

    def __call__(self, inputs: Inputs) -> Tensor:
        """States of all tokens, [T, hidden]."""
        x = self._embedding(inputs)
        for block in self._blocks:
            x = block(x, inputs.ragged)
        return x


def _embedding(shape: Shape, places: Places, take: Taker, kit: Kit) -> Embedding:
    """The first states, under the names that all of these families give to their tables."""
    words = take("embeddings.word_embeddings.weight", shape.vocabulary, shape.hidden)
    table = take("embeddings.position_embeddings.weight", places.positions, shape.hidden)
    if places.types:
        types = take("embeddings.token_type_embeddings.weight", places.types, shape.hidden)
        table = (types[:, None] + table).flatten(0, 1)
    norm = take.norm("embeddings.LayerNorm", shape.hidden, shape.epsilon)
    return kit.embedding(words, table, norm, places)


def _block(shape: Shape, names: Names, layer: str, mask: Mask, take: Taker, kit: Kit) -> Block:
    """One layer."""
    size = shape.hidden // shape.heads
    return kit.post_norm(
        PostNormBlock(
            qkv=take.linear([f"{layer}.{name}" for name in names.qkv], shape.hidden, shape.hidden),
            out=take.linear([f"{layer}.{names.out}"], shape.hidden, shape.hidden),
            attention_norm=take.norm(f"{layer}.{names.attention_norm}", shape.hidden, shape.epsilon),
            up=take.linear([f"{layer}.{names.up}"], shape.inner, shape.hidden, shape.activation),
            down=take.linear([f"{layer}.{names.down}"], shape.hidden, shape.inner),
            output_norm=take.norm(f"{layer}.{names.output_norm}", shape.hidden, shape.epsilon),
            attention=kit.attention,
            heads=shape.heads,
            size=size,
            mask=mask,
            scale=size**-0.5,
        )
    )
