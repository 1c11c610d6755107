"""`VocabularyHead`: the head of a masked language model, from states to one logit a term. One entry a family.

Checkpoints leave out the last table where it is that of the words, and keep its bias under one name or two.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.layers.linear import Activation, Linear
from tulip_rose.rose.layers.norm import Norm
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.models.post_norm import activation_of
from tulip_rose.rose.weights import Weights


@dataclass(frozen=True, slots=True)
class Family:
    """The names of a head's tensors, in full, and what its config says."""

    dense: str
    norm: str
    table: str
    words: str
    """The table of the words, which stands for `table` where that is left out."""
    biases: tuple[str, ...]
    """Names of the bias of `table`, the first that is there counts; mostly they are one and the same."""
    parts: str
    """All names of the head."""
    size: tuple[str, ...] = ("hidden_size",)
    """Spellings of the key."""
    epsilon: tuple[str, float] = ("layer_norm_eps", 1e-12)
    activation: Callable[[Config], Activation] = lambda _: Activation.GELU
    dense_bias: Callable[[Config], bool] = lambda _: True
    norm_bias: Callable[[Config], bool] = lambda _: True


_BERT = Family(
    dense="cls.predictions.transform.dense",
    norm="cls.predictions.transform.LayerNorm",
    table="cls.predictions.decoder.weight",
    words="bert.embeddings.word_embeddings.weight",
    biases=("cls.predictions.decoder.bias", "cls.predictions.bias"),
    parts=r"cls\..*",
    activation=lambda config: activation_of(config, "hidden_act"),
)
_DISTILBERT = Family(
    dense="vocab_transform",
    norm="vocab_layer_norm",
    table="vocab_projector.weight",
    words="distilbert.embeddings.word_embeddings.weight",
    biases=("vocab_projector.bias",),
    parts=r"vocab_(transform|layer_norm|projector)\..*",
    size=("dim", "hidden_size"),
    # Built into the architecture: its config has no such key.
    epsilon=("layer_norm_eps", 1e-12),
    activation=lambda config: activation_of(config, config.spelling("activation", "hidden_act")),
)
_MODERNBERT = Family(
    dense="head.dense",
    norm="head.norm",
    table="decoder.weight",
    words="model.embeddings.tok_embeddings.weight",
    biases=("decoder.bias",),
    parts=r"(head|decoder)\..*",
    epsilon=("norm_eps", 1e-5),
    activation=lambda config: activation_of(config, "classifier_activation"),
    dense_bias=lambda config: bool(config.demand("classifier_bias", False, True)),
    norm_bias=lambda config: bool(config.demand("norm_bias", False, True)),
)


def _roberta(prefix: str) -> Family:
    return Family(
        dense="lm_head.dense",
        norm="lm_head.layer_norm",
        table="lm_head.decoder.weight",
        words=f"{prefix}.embeddings.word_embeddings.weight",
        biases=("lm_head.decoder.bias", "lm_head.bias"),
        parts=r"lm_head\..*",
    )


FAMILIES = {
    "BertForMaskedLM": _BERT,
    "CamembertForMaskedLM": _roberta("roberta"),
    "DistilBertForMaskedLM": _DISTILBERT,
    "MPNetForMaskedLM": _roberta("mpnet"),
    "ModernBertForMaskedLM": _MODERNBERT,
    "RobertaForMaskedLM": _roberta("roberta"),
    "XLMRobertaForMaskedLM": _roberta("roberta"),
}


@dataclass(frozen=True, slots=True)
class VocabularyHead:
    """A layer, a norm, and the table of all terms."""

    dense: Linear
    """With the activation."""
    norm: Norm
    table: Linear
    terms: int
    held: int = 0
    """Bytes of a table that the base model has too."""

    def __call__(self, states: Tensor) -> Tensor:
        """States [T, H] → logits [T, terms], both in the dtype of the model."""
        return self.table(self.norm(self.dense(states)))

    @classmethod
    def load(
        cls, architecture: str, config: Config, weights: Weights, kit: Kit, device: torch.device
    ) -> "VocabularyHead":
        """Take the head out of a checkpoint, before the base model takes its own.

        Raises:
            LoadError: the architecture has no such head, or a tensor is missing or of another shape.
        """
        family = FAMILIES.get(architecture)
        if family is None:
            raise LoadError(
                f"{config.where}: architecture {architecture!r} has no head over the vocabulary; "
                f"known are {', '.join(FAMILIES)}"
            )
        size, terms = config.integer(config.spelling(*family.size)), config.integer("vocab_size")

        def take(name: str, *shape: int, keep: bool = False) -> Tensor:
            return weights.take_whole(name, shape, weights.dtype, keep=keep).to(device, copy=True)

        dense_bias = take(f"{family.dense}.bias", size) if family.dense_bias(config) else None
        dense = kit.linear(take(f"{family.dense}.weight", size, size), dense_bias, family.activation(config))
        norm_bias = take(f"{family.norm}.bias", size) if family.norm_bias(config) else None
        norm = kit.norm(take(f"{family.norm}.weight", size), norm_bias, config.number(*family.epsilon))
        own = weights.has(family.table)
        table = take(family.table if own else family.words, terms, size, keep=not own)
        bias = take(next((name for name in family.biases if weights.has(name)), family.biases[0]), terms)
        weights.forget(family.parts)
        return cls(dense, norm, kit.linear(table, bias, Activation.NONE), terms, 0 if own else table.nbytes)
