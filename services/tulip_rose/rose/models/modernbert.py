"""ModernBERT: rotary positions, pre-norm blocks without biases, most layers see a window to both sides."""

import torch
from torch import Tensor
from torch.nn import functional

from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.layers.attention import Mask
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.norm import Norm
from tulip_rose.rose.layers.rope import Rope
from tulip_rose.rose.layers.rotary import PreNormBlock, RotaryAttention
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.models.post_norm import activation_of
from tulip_rose.rose.models.rope_file import OldBase, rope_of
from tulip_rose.rose.models.rotary import BUFFERS, FULL, SLIDING, layer_types, whole_heads
from tulip_rose.rose.models.taker import Taker
from tulip_rose.rose.weights import Weights

_OLD_BASES = {FULL: OldBase("global_rope_theta", 160_000.0), SLIDING: OldBase("local_rope_theta", 10_000.0)}


class ModernBert:
    """`ModernBertModel`."""

    prefix = "model."
    token_types = 0

    def __init__(self, config: Config, weights: Weights, kit: Kit, device: torch.device) -> None:
        self.hidden_size = hidden = config.integer("hidden_size")
        self.vocabulary_size = config.integer("vocab_size")
        self.positions = config.integer("max_position_embeddings")
        take = Taker(weights, kit, device)
        self._words = take("embeddings.tok_embeddings.weight", self.vocabulary_size, hidden)
        self._first_norm = _norm(config, take, "embeddings.norm")
        every = config.integer("global_attn_every_n_layers", 3)
        types = layer_types(config, lambda index: index % every == 0)
        self._ropes = {kind: _rope(config, kind, self.positions, device) for kind in set(types)}
        masks = {kind: _mask(config, kind) for kind in self._ropes}
        self._blocks = [(kind, _block(config, take, index, kit, masks[kind])) for index, kind in enumerate(types)]
        self._last_norm = _norm(config, take, "final_norm")
        weights.finish(BUFFERS)

    def __call__(self, inputs: Inputs) -> Tensor:
        """States of all tokens, [T, hidden]."""
        x = self._first_norm(functional.embedding(inputs.token_ids, self._words))
        turns = {kind: rope(inputs.positions) for kind, rope in self._ropes.items()}
        for kind, block in self._blocks:
            x = block(x, inputs.ragged, turns[kind])
        return self._last_norm(x)


def _norm(config: Config, take: Taker, name: str) -> Norm:
    bias = bool(config.demand("norm_bias", False, True))
    return take.norm(name, config.integer("hidden_size"), config.number("norm_eps", 1e-5), bias=bias)


def _rope(config: Config, kind: str, positions: int, device: torch.device) -> Rope:
    return rope_of(config, _OLD_BASES[kind], whole_heads(config).size, positions, device, kind)


def _mask(config: Config, kind: str) -> Mask:
    side = config.integer("local_attention", 128) // 2
    return Mask() if kind == FULL else Mask(window=(side, side))


def _block(config: Config, take: Taker, index: int, kit: Kit, mask: Mask) -> PreNormBlock:
    name, heads = f"layers.{index}", whole_heads(config)
    hidden, inner = config.integer("hidden_size"), config.integer("intermediate_size")
    attention_bias, bias = (bool(config.demand(key, False, True)) for key in ("attention_bias", "mlp_bias"))
    activation = activation_of(config, "hidden_activation")
    qkv = take.linear([f"{name}.attn.Wqkv"], heads.width, hidden, bias=attention_bias)
    return PreNormBlock(
        attention_norm=_norm(config, take, f"{name}.attn_norm") if index else None,
        attention=RotaryAttention(qkv, heads, kit.turner(heads), kit.attention, mask, heads.size**-0.5),
        out=take.linear([f"{name}.attn.Wo"], hidden, hidden, bias=attention_bias),
        feed_norm=_norm(config, take, f"{name}.mlp_norm"),
        feed=take.gated([f"{name}.mlp.Wi"], inner, hidden, activation, bias=bias),
        down=take.linear([f"{name}.mlp.Wo"], hidden, inner, bias=bias),
    )
