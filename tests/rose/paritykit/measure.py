"""What an engine computes against what the reference does."""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from paritykit.texts import Text
from torch import Tensor
from transformers import PreTrainedModel
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.engine import Engine
from tulip_rose.sequence import OutputForm, Sequence, Want

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Parity:
    """How far rows are from those of the reference."""

    cosine: float
    """The smallest of a row."""
    error: float
    """The largest difference of a value."""


def parity(found: list[Array], expected: list[Array]) -> Parity:
    """Compare rows [R, H] of the same texts.

    Raises:
        ValueError: they are not of one shape, or not finite.
    """
    a, b = np.concatenate(found).astype(np.float64), np.concatenate(expected).astype(np.float64)
    if a.shape != b.shape or not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError(f"rows {a.shape} and {b.shape} of one shape and finite were expected")
    cosines = (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    return Parity(float(cosines.min()), float(np.abs(a - b).max()))


def reference_states(model: PreTrainedModel, texts: list[Text]) -> list[Array]:
    """Last hidden states [tokens, H] of each text, computed alone and unpadded."""
    return [_states(model, text).numpy() for text in texts]


def _states(model: PreTrainedModel, text: Text) -> Tensor:
    types = {} if text.types is None else {"token_type_ids": torch.from_numpy(text.types.astype(np.int64))[None]}
    with torch.inference_mode():
        found = model(input_ids=torch.from_numpy(text.ids.astype(np.int64))[None], **types)
    states: Tensor = found.last_hidden_state[0].float()
    return states


def engine_states(engine: Engine, texts: list[Text]) -> list[Array]:
    """Last hidden states [tokens, H] of each text, all in one batch: each token is a span of its own.

    The engine pools by anything but what mixes a token with others.
    """
    return _rows(
        engine, [Want(tuple((at, at + 1) for at in range(text.ids.size)), _plain(engine)) for text in texts], texts
    )


def engine_vectors(engine: Engine, texts: list[Text]) -> list[Array]:
    """The vector [1, dimensions] of each text, neither cut nor normalised, all in one batch."""
    return _rows(engine, [Want(((0, text.ids.size),), _plain(engine)) for text in texts], texts)


def _plain(engine: Engine) -> OutputForm:
    return OutputForm(engine.card.dimensions, normalize=False)


def _rows(engine: Engine, wants: list[Want], texts: list[Text]) -> list[Array]:
    pairs = zip(texts, wants, strict=True)
    batch = Batch.pack([Sequence(text.ids, (want,), 0.0, inf, text.types) for text, want in pairs])
    rows = engine.step(batch).wait(120)
    return [rows.of(index).astype(np.float32) for index in range(len(texts))]
