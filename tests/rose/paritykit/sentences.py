"""Vectors of an engine against those of `SentenceTransformer`, of the same texts."""

from collections.abc import Sequence as Sequences
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from paritykit.measure import Parity, parity
from sentence_transformers import SentenceTransformer
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions
from tulip_rose.sequence import OutputForm, Sequence, Want

TEXTS = ["", "a", "b c", "z y x w v u t", "a A b B c C", "q " * 30, "k " * 62, "b c", "m n o p"]


def load(folder: Path, **options: Any) -> Engine:
    """On a CPU, with one thread."""
    return Engine.load(folder, EngineOptions(device="cpu", threads=1, **options))


def vectors(
    engine: Engine, model: SentenceTransformer, texts: Sequences[str] = TEXTS, *, skip: int = 0, **form: Any
) -> list[NDArray[Any]]:
    """Of the engine, all in one batch, with the ids of the model's own tokenizer.

    Args:
        engine: of the same model.
        model: whose tokenizer is used.
        texts: to embed.
        skip: tokens at the beginning of each that are not pooled.
        form: fields of the form that is asked for; by default what the model says.
    """
    ids = [np.asarray(model.tokenizer(text)["input_ids"], dtype=np.int32) for text in texts]
    own = OutputForm(**{"dimensions": engine.card.dimensions, "normalize": engine.card.normalize, **form})
    batch = Batch.pack([Sequence(each, (Want(((skip, each.size),), own),), 0.0, inf) for each in ids])
    rows = engine.step(batch).wait(60)
    return [rows.of(index) for index in range(len(texts))]


def expected(model: SentenceTransformer, texts: Sequences[str] = TEXTS, **settings: Any) -> list[NDArray[Any]]:
    """Of the reference, in batches with padding."""
    return list(model.encode(list(texts), batch_size=4, **settings)[:, None])


def check(model: SentenceTransformer, folder: Path) -> Parity:
    """Demand that the engine of a folder gives what the model gives that was saved in it."""
    engine = load(folder)
    found = parity(vectors(engine, model), expected(model))
    assert found.cosine >= 0.99999
    assert found.error <= 2e-5
    assert engine.card.dimensions == model.get_embedding_dimension()
    return found
