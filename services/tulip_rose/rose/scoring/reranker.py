"""Language models that rerank: how much likelier than one token another is to come next, after the last of a text.

Of the table of outputs two rows are needed, so no logits of a whole vocabulary are ever made.
"""

from typing import TypeGuard

import torch
from torch import Tensor

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.modules import Module
from tulip_rose.rose.pooling_words import Pooling
from tulip_rose.rose.scoring.classifiers import Make
from tulip_rose.rose.scoring.head_taker import HeadTaker
from tulip_rose.rose.scoring.labels import plain_labels
from tulip_rose.rose.scoring.scorer import Scorer
from tulip_rose.rose.transformer_file import NEXT_TOKEN, TEMPLATE

LANGUAGE_MODELS = ("Qwen3ForCausalLM",)
"""Architectures that can rerank."""

_KNOWN = frozenset({"true_token_id", "false_token_id", "module_input_name"})
_OUTPUTS, _WORDS = "lm_head.weight", "model.embed_tokens.weight"


def reads_module(module: Module) -> Make:
    """What a LogitScore module says.

    Raises:
        LoadError: it names no token, reads something else than the logits, or says what is not understood.
    """
    settings = module.settings(_KNOWN)
    read = settings.get("module_input_name", "causal_logits")
    if read != "causal_logits":
        raise LoadError(f"{module.where}: module_input_name {read!r} is not supported; known is 'causal_logits'")
    true, false = settings.get("true_token_id"), settings.get("false_token_id")
    if not _is_id(true) or not (false is None or _is_id(false)):
        raise LoadError(f"{module.where}: true_token_id {true!r} and false_token_id {false!r} are not ids of tokens")
    return reads_tokens([true] if false is None else [true, false], module.where)


def reads_tokens(ids: list[int], where: str) -> Make:
    """The logit of the first token, less that of the second where there are two; `where` names the file of the ids."""

    def make(config: Config, take: HeadTaker) -> Scorer:
        vocabulary, hidden = config.integer("vocab_size"), config.integer("hidden_size")
        if max(ids) >= vocabulary:
            raise LoadError(f"{where}: token {max(ids)} is none of the {vocabulary} of the model")
        rows = _rows(config, take, ids, (vocabulary, hidden))
        weight = rows[0] if len(ids) == 1 else rows[0] - rows[1]
        score = take.of_weight(weight[None])
        return Scorer((Pooling.LAST_TOKEN,), (score,), plain_labels(1), call=NEXT_TOKEN, understood=TEMPLATE)

    return make


def _rows(config: Config, take: HeadTaker, ids: list[int], shape: tuple[int, int]) -> Tensor:
    """The outputs' rows of these tokens; where the tables of words and outputs are one, a file may still have both."""
    if not config.demand("tie_word_embeddings", False, True):
        return take.rows(_OUTPUTS, ids, shape)
    rows = take.rows(_WORDS, ids, shape, keep=True)
    if take.has(_OUTPUTS) and not torch.equal(rows, take.rows(_OUTPUTS, ids, shape)):
        raise LoadError(f"{config.where}: tie_word_embeddings is true, but {_OUTPUTS} is not {_WORDS}")
    return rows


def _is_id(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
