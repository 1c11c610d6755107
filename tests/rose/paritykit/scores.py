"""What a model that scores gives for each label, against what the reference does."""

from dataclasses import dataclass

import numpy as np
import torch
from paritykit.measure import Array
from paritykit.texts import Text
from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class ScoreParity:
    """How far scores [pairs, labels] are from those of the reference."""

    correlation: float
    """Over the pairs, of the label where it is smallest: scores are for ranking."""
    error: float
    """The largest difference of a score."""


def score_parity(found: list[Array], expected: list[Array]) -> ScoreParity:
    """Compare rows [1, labels] of the same pairs.

    Raises:
        ValueError: they are not of one shape, not finite, or all pairs have one score, which shows nothing.
    """
    a, b = np.concatenate(found).astype(np.float64), np.concatenate(expected).astype(np.float64)
    if a.shape != b.shape or not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError(f"scores {a.shape} and {b.shape} of one shape and finite were expected")
    if b.std(0).min() < 0.1:
        raise ValueError(f"the pairs have one score but for {b.std(0).min()}")
    correlations = [np.corrcoef(one, other)[0, 1] for one, other in zip(a.T, b.T, strict=True)]
    return ScoreParity(float(min(correlations)), float(np.abs(a - b).max()))


def reference_logits(model: PreTrainedModel, texts: list[Text]) -> list[Array]:
    """Logits [1, labels] of each text, computed alone and unpadded; of a language model those after its last token."""
    return [_logits(model, text).numpy() for text in texts]


def _logits(model: PreTrainedModel, text: Text) -> torch.Tensor:
    types = {} if text.types is None else {"token_type_ids": torch.from_numpy(text.types.astype(np.int64))[None]}
    with torch.inference_mode():
        found = model(input_ids=torch.from_numpy(text.ids.astype(np.int64))[None], **types).logits.float()
    return found if found.ndim == 2 else found[:, -1]
