"""Qwen3: causal, or seen from both sides as in pplx-embed; normed queries and keys, rotary positions."""

import torch
from torch import Tensor
from torch.nn import functional

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.layers.attention import Mask
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.layers.rotary import PreNormBlock
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.models.rope_file import OldBase, rope_of
from tulip_rose.rose.models.rotary import BUFFERS, FULL, SLIDING, decoder_attention, layer_types
from tulip_rose.rose.models.taker import Taker
from tulip_rose.rose.weights import Weights

_BOTH_SIDES = "bidirectional_pplx_qwen3"


class Qwen3:
    """`Qwen3Model`, and the models of pplx-embed, whose tokens see those after them too."""

    prefix = "model."
    token_types = 0

    def __init__(self, config: Config, weights: Weights, kit: Kit, device: torch.device) -> None:
        config.demand("hidden_act", "silu")
        self.hidden_size = hidden = config.integer("hidden_size")
        self.vocabulary_size = config.integer("vocab_size")
        self.positions = config.integer("max_position_embeddings")
        take = Taker(weights, kit, device)
        self._words = take("embed_tokens.weight", self.vocabulary_size, hidden)
        old = OldBase("rope_theta", 10_000.0)
        self._rope = rope_of(config, old, config.integer("head_dim"), self.positions, device)
        masks = _masks(config)
        self._blocks = [_block(config, take, f"layers.{index}", kit, mask) for index, mask in enumerate(masks)]
        self._norm = take.rms_norm("norm", hidden, config.number("rms_norm_eps", 1e-6))
        weights.finish(BUFFERS)

    def __call__(self, inputs: Inputs) -> Tensor:
        """States of all tokens, [T, hidden]."""
        x = functional.embedding(inputs.token_ids, self._words)
        turn = self._rope(inputs.positions)
        for block in self._blocks:
            x = block(x, inputs.ragged, turn)
        return self._norm(x)


def _masks(config: Config) -> list[Mask]:
    """Of each layer."""
    both = _sees_both_sides(config)
    windowed = config.demand("use_sliding_window", False, True)
    first = config.integer("max_window_layers", 28) if windowed else config.integer("num_hidden_layers")
    types = layer_types(config, lambda index: index < first)
    full = Mask(causal=not both)
    if SLIDING not in types:
        return [full] * len(types)
    if both or not windowed:
        raise LoadError(f"{config.where}: layers of {SLIDING} go with use_sliding_window and a causal model alone")
    window = Mask(causal=True, window=(config.integer("sliding_window") - 1, 0))
    return [full if kind == FULL else window for kind in types]


def _sees_both_sides(config: Config) -> bool:
    """Whether tokens see those after them: by the class of the model, or by a switch of the plain one.

    Raises:
        LoadError: class and switch contradict one another: one of them would be ignored.
    """
    if config.values.get("model_type") == _BOTH_SIDES:
        return bool(config.demand("use_bidirectional_attention", True))
    config.demand("use_bidirectional_attention", False, None)
    return not config.demand("is_causal", True, False)


def _block(config: Config, take: Taker, name: str, kit: Kit, mask: Mask) -> PreNormBlock:
    hidden, inner, size = (config.integer(key) for key in ("hidden_size", "intermediate_size", "head_dim"))
    epsilon = config.number("rms_norm_eps", 1e-6)
    attention = decoder_attention(config, take, kit, f"{name}.self_attn", mask, scale=size**-0.5)
    bias = bool(config.values.get("attention_bias"))
    gate = [f"{name}.mlp.{part}_proj" for part in ("gate", "up")]
    return PreNormBlock(
        attention_norm=take.rms_norm(f"{name}.input_layernorm", hidden, epsilon),
        attention=attention,
        out=take.linear([f"{name}.self_attn.o_proj"], hidden, attention.heads.attended, bias=bias),
        feed_norm=take.rms_norm(f"{name}.post_attention_layernorm", hidden, epsilon),
        feed=take.gated(gate, inner, hidden, Activation.SILU, bias=False),
        down=take.linear([f"{name}.mlp.down_proj"], hidden, inner, bias=False),
    )
