"""Gemma3's text model: most layers see a window, every few the whole text; a norm before and after each half."""

import torch
from torch import Tensor
from torch.nn import functional

from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.layers.attention import Mask
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.layers.rope import Rope
from tulip_rose.rose.layers.rotary import RotaryBlock, SandwichBlock
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.models.rope_file import OldBase, rope_of
from tulip_rose.rose.models.rotary import BUFFERS, FULL, SLIDING, decoder_attention, layer_types
from tulip_rose.rose.models.taker import Taker
from tulip_rose.rose.weights import Weights

_OLD_BASES = {
    FULL: OldBase("rope_theta", 1_000_000.0),
    SLIDING: OldBase("rope_local_base_freq", 10_000.0, scaled=False),
}
_PLUS = 1.0
"""Weights of norms are stored as what they are more than one."""


class Gemma3:
    """`Gemma3TextModel`, causal or seen from both sides as in EmbeddingGemma."""

    prefix = "model."
    token_types = 0

    def __init__(self, config: Config, weights: Weights, kit: Kit, device: torch.device) -> None:
        config.demand("attn_logit_softcapping", None)
        config.demand("is_causal", True)
        self.hidden_size = hidden = config.integer("hidden_size")
        self.vocabulary_size = config.integer("vocab_size")
        self.positions = config.integer("max_position_embeddings")
        take = Taker(weights, kit, device)
        self._words = take("embed_tokens.weight", self.vocabulary_size, hidden)
        self._scale = hidden**0.5
        pattern = config.integer("sliding_window_pattern", config.integer("_sliding_window_pattern", 6))
        types = layer_types(config, lambda index: (index + 1) % pattern == 0)
        self._ropes = {kind: _rope(config, kind, self.positions, device) for kind in set(types)}
        masks = {kind: _mask(config, kind) for kind in self._ropes}
        self._blocks = [
            (kind, _block(config, take, f"layers.{index}", kit, masks[kind])) for index, kind in enumerate(types)
        ]
        self._norm = take.rms_norm("norm", hidden, config.number("rms_norm_eps", 1e-6), _PLUS)
        weights.finish(BUFFERS)

    def __call__(self, inputs: Inputs) -> Tensor:
        """States of all tokens, [T, hidden]."""
        x = functional.embedding(inputs.token_ids, self._words) * self._scale
        turns = {kind: rope(inputs.positions) for kind, rope in self._ropes.items()}
        for kind, block in self._blocks:
            x = block(x, inputs.ragged, turns[kind])
        return self._norm(x)


def _rope(config: Config, kind: str, positions: int, device: torch.device) -> Rope:
    return rope_of(config, _OLD_BASES[kind], config.integer("head_dim"), positions, device, kind)


def _mask(config: Config, kind: str) -> Mask:
    both = bool(config.demand("use_bidirectional_attention", False, True, None))
    if kind == FULL:
        return Mask(causal=not both)
    window = config.integer("sliding_window")
    # Seen from both sides, half of the window lies to each side; else it counts the token itself.
    return Mask(causal=False, window=(window // 2, window // 2)) if both else Mask(causal=True, window=(window - 1, 0))


def _block(config: Config, take: Taker, name: str, kit: Kit, mask: Mask) -> RotaryBlock:
    hidden, inner = config.integer("hidden_size"), config.integer("intermediate_size")
    epsilon, bias = config.number("rms_norm_eps", 1e-6), bool(config.values.get("attention_bias"))
    activation = Activation(config.demand("hidden_activation", "gelu_pytorch_tanh"))
    scale = config.integer("query_pre_attn_scalar", 256) ** -0.5
    attention = decoder_attention(config, take, kit, f"{name}.self_attn", mask, scale=scale, plus=_PLUS)
    gate = [f"{name}.mlp.{part}_proj" for part in ("gate", "up")]
    parts = SandwichBlock(
        attention_norm=take.rms_norm(f"{name}.input_layernorm", hidden, epsilon, _PLUS),
        attention=attention,
        out=take.linear([f"{name}.self_attn.o_proj"], hidden, attention.heads.attended, bias=bias),
        attended_norm=take.rms_norm(f"{name}.post_attention_layernorm", hidden, epsilon, _PLUS),
        feed_norm=take.rms_norm(f"{name}.pre_feedforward_layernorm", hidden, epsilon, _PLUS),
        feed=take.gated(gate, inner, hidden, activation, bias=False),
        down=take.linear([f"{name}.mlp.down_proj"], hidden, inner, bias=False),
        fed_norm=take.rms_norm(f"{name}.post_feedforward_layernorm", hidden, epsilon, _PLUS),
    )
    return kit.sandwich(parts)
