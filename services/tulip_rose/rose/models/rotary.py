"""What rotary models have in common in their files: how configs tell windows and heads, and names of tensors."""

from collections.abc import Callable

import torch

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.layers.attention import Mask
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.rope import Heads
from tulip_rose.rose.layers.rotary import RotaryAttention
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.models.taker import Taker

FULL, SLIDING = "full_attention", "sliding_attention"
BUFFERS = (r"(.*\.)?rotary_emb\.(original_)?inv_freq",)
"""What older checkpoints hold of the rotary positions, as a pattern: it follows from the config."""


def layer_types(config: Config, is_full: Callable[[int], bool]) -> list[str]:
    """FULL or SLIDING for each layer; `is_full` tells it by index where the config does not.

    Raises:
        LoadError: another type, or not one for each layer.
    """
    count = config.integer("num_hidden_layers")
    found = config.values.get("layer_types")
    if found is None:
        return [FULL if is_full(index) else SLIDING for index in range(count)]
    if not isinstance(found, list) or len(found) != count or not set(found) <= {FULL, SLIDING}:
        raise LoadError(f"{config.where}: layer_types is not a list of {count} of {FULL} and {SLIDING}")
    return found


def attention_heads(config: Config, size: int) -> Heads:
    """The heads that a config tells, of that size.

    Raises:
        LoadError: the heads of keys do not divide those of queries, or a head has no pairs to turn.
    """
    queries = config.integer("num_attention_heads")
    keys = config.integer("num_key_value_heads", queries)
    if queries % keys:
        raise LoadError(f"{config.where}: num_key_value_heads {keys} does not divide num_attention_heads {queries}")
    if size % 2:
        raise LoadError(f"{config.where}: head_dim {size} is odd, rotary positions turn pairs")
    return Heads(queries, keys, size)


def whole_heads(config: Config) -> Heads:
    """Heads that divide the hidden size among them, each with keys of its own.

    Raises:
        LoadError: they cannot, or a head has no pairs to turn.
    """
    hidden, heads = config.integer("hidden_size"), config.integer("num_attention_heads")
    if hidden % (2 * heads):
        raise LoadError(f"{config.where}: num_attention_heads {heads} does not make even heads of {hidden} values")
    return Heads(heads, heads, hidden // heads)


def decoder_attention(
    config: Config, take: Taker, kit: Kit, name: str, mask: Mask, *, scale: float, plus: float = 0.0
) -> RotaryAttention:
    """Attention with normed queries and keys, under the names that decoders give it.

    Args:
        config: of the model.
        take: its tensors.
        kit: makes the layers.
        name: what the names of its tensors begin with.
        mask: which keys are seen.
        scale: of the logits.
        plus: added to the weights of the norms.
    """
    heads = attention_heads(config, config.integer("head_dim"))
    epsilon = config.number("rms_norm_eps", 1e-6)
    counts = {"q_norm": heads.queries, "k_norm": heads.keys}
    norms = [
        take.precise(f"{name}.{norm}.weight", heads.size).float().expand(count, -1) for norm, count in counts.items()
    ]
    normed = Heads(heads.queries, heads.keys, heads.size, torch.cat(norms) + plus, epsilon)
    widths = {"q_proj": heads.queries * heads.size, **dict.fromkeys(("k_proj", "v_proj"), heads.keys * heads.size)}
    parts = [(f"{name}.{part}", width) for part, width in widths.items()]
    bias = bool(config.demand("attention_bias", False, True))
    qkv = take.packed(parts, config.integer("hidden_size"), bias=bias)
    return RotaryAttention(qkv, normed, kit.turner(normed), kit.attention, mask, scale)
