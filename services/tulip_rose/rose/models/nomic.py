"""NomicBERT: BERT's norms and types of tokens, rotary positions, a gated feed-forward, no biases."""

import torch
from torch import Tensor

from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.layers.attention import Mask
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.layers.rotary import RotaryAttention, RotaryPostNormBlock
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.models.rope_file import OldBase, rope_of
from tulip_rose.rose.models.rotary import BUFFERS, whole_heads
from tulip_rose.rose.models.taker import Taker
from tulip_rose.rose.weights import Weights

_OLD = {
    "hidden_size": "n_embd",
    "intermediate_size": "n_inner",
    "layer_norm_eps": "layer_norm_epsilon",
    "max_position_embeddings": "n_positions",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
    "rope_theta": "rotary_emb_base",
}
"""Today's keys, and those of the configs that were published with the models."""
_ONLY: dict[str, tuple[object, ...]] = {
    "activation_function": ("swiglu",),
    "causal": (False,),
    "hidden_act": ("silu",),
    "num_experts": (0, None),
    "parallel_block": (False,),
    "prenorm": (False,),
    "rotary_emb_fraction": (1.0,),
    "rotary_emb_interleaved": (False,),
    "rotary_emb_scale_base": (None,),
    # Turns would depend on the longest text of a batch: one text would have another vector among other neighbours.
    "rotary_scaling_factor": (None,),
    "scale_attn_weights": (True,),
    "use_rms_norm": (False,),
}
"""Keys of which the published models use these values alone."""


class NomicBert:
    """`NomicBertModel`."""

    prefix = "bert."

    def __init__(self, config: Config, weights: Weights, kit: Kit, device: torch.device) -> None:
        config = _renamed(config)
        for key, allowed in _ONLY.items():
            config.demand(key, *allowed)
        self.hidden_size = hidden = config.integer("hidden_size")
        self.vocabulary_size = config.integer("vocab_size")
        self.positions = config.integer("max_position_embeddings")
        take = Taker(weights, kit, device)
        words = take("embeddings.word_embeddings.weight", self.vocabulary_size, hidden)
        self.token_types = config.integer("type_vocab_size")
        types = take("embeddings.token_type_embeddings.weight", self.token_types, hidden)
        norm = take.norm("emb_ln", hidden, config.number("layer_norm_eps", 1e-12))
        self._embedding = kit.embedding(words, types, norm, _types if self.token_types > 1 else _first)
        size = whole_heads(config).size
        self._rope = rope_of(config, OldBase("rope_theta", 1_000.0), size, self.positions, device)
        layers = range(config.integer("num_hidden_layers"))
        self._blocks = [_block(config, take, f"encoder.layers.{index}", kit) for index in layers]
        weights.finish(BUFFERS)

    def __call__(self, inputs: Inputs) -> Tensor:
        """States of all tokens, [T, hidden]."""
        x = self._embedding(inputs)
        turn = self._rope(inputs.positions)
        for block in self._blocks:
            x = block(x, inputs.ragged, turn)
        return x


def _renamed(config: Config) -> Config:
    """The config in today's spelling."""
    values = {new: config.values[old] for new, old in _OLD.items() if old in config.values}
    return Config({**values, **config.values}, config.where)


def _first(inputs: Inputs) -> Tensor:
    return torch.zeros_like(inputs.token_ids)


def _types(inputs: Inputs) -> Tensor:
    """Tokens by type: what is added to the vector of a word. See `Place`."""
    return _first(inputs) if inputs.token_types is None else inputs.token_types


def _block(config: Config, take: Taker, name: str, kit: Kit) -> RotaryPostNormBlock:
    heads, epsilon = whole_heads(config), config.number("layer_norm_eps", 1e-12)
    hidden, inner = config.integer("hidden_size"), config.integer("intermediate_size")
    qkv = take.linear([f"{name}.attn.Wqkv"], heads.width, hidden, bias=False)
    # The first half of the feed-forward is let through by the second.
    gate = [f"{name}.mlp.fc12", f"{name}.mlp.fc11"]
    return RotaryPostNormBlock(
        attention=RotaryAttention(qkv, heads, kit.turner(heads), kit.attention, Mask(), heads.size**-0.5),
        out=take.linear([f"{name}.attn.out_proj"], hidden, hidden, bias=False),
        attention_norm=take.norm(f"{name}.norm1", hidden, epsilon),
        feed=take.gated(gate, inner, hidden, Activation.SILU, bias=False),
        down=take.linear([f"{name}.mlp.fc2"], hidden, inner, bias=False),
        feed_norm=take.norm(f"{name}.norm2", hidden, epsilon),
    )
