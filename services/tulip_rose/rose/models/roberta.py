"""RoBERTa, XLM-R and CamemBERT: BERT with positions that are counted from behind that of padding."""

import torch

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.places import Places
from tulip_rose.rose.models.bert import NAMES, UNUSED
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.models.post_norm import PostNormModel, Shape
from tulip_rose.rose.models.taker import Taker
from tulip_rose.rose.weights import Weights

_PADDING = 1


class Roberta(PostNormModel):
    """`RobertaModel`, `XLMRobertaModel`, `CamembertModel`: 514 positions are 512 tokens."""

    prefix = "roberta."

    def __init__(self, config: Config, weights: Weights, kit: Kit, device: torch.device) -> None:
        config.demand("position_embedding_type", "absolute")
        config.demand("is_decoder", False)
        positions, types = config.integer("max_position_embeddings"), config.integer("type_vocab_size", 2)
        places = Places(positions, types, padding_of(config, positions))
        super().__init__(Shape.of(config), places, NAMES, "encoder.layer", Taker(weights, kit, device), kit)
        weights.finish(UNUSED)


def padding_of(config: Config, positions: int) -> int:
    """The id that stands for padding, and the place of such a token.

    Raises:
        LoadError: no id, or one that leaves no position for other tokens.
    """
    padding = config.values.get("pad_token_id", _PADDING)
    if not isinstance(padding, int) or not 0 <= padding < positions - 1:
        raise LoadError(f"{config.where}: pad_token_id is {padding!r}, a number below {positions - 1} was expected")
    return padding
