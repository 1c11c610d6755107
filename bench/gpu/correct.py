"""Whether vectors are right: against transformers in float32, and of graphs against eager steps of the same sizes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from tulip_rose.rose.engine import Engine

from bench.gpu.contenders import EAGER, Contender, Field, Rose, options
from bench.gpu.failures import Failures, some
from bench.gpu.models import SEED, Ids, Reference, Vectors, made_up
from bench.gpu.scale import Scale

NEEDED = {"float32": 0.99999, "bfloat16": 0.999}
"""Lowest cosine of a text to transformers in float32."""


@dataclass(frozen=True)
class Parity:
    """One contender beside the reference.

    Attributes:
        name: of the contender.
        dtype: in which it computes.
        cosine: the lowest of a text.
        needed: None where nothing is asked of it.
    """

    name: str
    dtype: str
    cosine: float
    needed: float | None

    @property
    def holds(self) -> bool:
        """Whether it is near enough."""
        return self.needed is None or self.cosine >= self.needed


@dataclass(frozen=True)
class Sameness:
    """A size of steps, with a graph and without.

    Attributes:
        name: of the contender.
        tokens: of the batch.
        sequences: of the batch.
        captured: whether there was a graph at all.
        difference: the largest of a value; 0.0 is what has to be.
    """

    name: str
    tokens: int
    sequences: int
    captured: bool
    difference: float

    @property
    def holds(self) -> bool:
        """Whether they are equal, bit for bit."""
        return self.captured and self.difference == 0.0


def likeness(reference: Vectors) -> float:
    """The highest cosine of two different texts: how far from 1 it is says what a cosine beside the reference means."""
    alike = reference @ reference.T
    np.fill_diagonal(alike, -1.0)
    return float(alike.max())


def expected(reference: Reference, scale: Scale, vocabulary: int) -> tuple[list[Ids], Vectors]:
    """Texts of all lengths, and what their vectors should be."""
    texts = made_up(scale.checked, vocabulary, SEED)
    return texts, reference.vectors(texts)


def in_float32(folder: Path, scale: Scale, texts: list[Ids], rows: Vectors) -> Parity:
    """The engine in float32, without graphs and with torch's attention: the layers by themselves."""
    engine = Engine.load(folder, options(scale, "torch", EAGER, "float32"))
    try:
        found = Rose("eager, torch", engine, graphs=False).embed(texts)
    finally:
        engine.close()
    return Parity("eager, torch", "float32", lowest(found, rows), NEEDED["float32"])


def of_contenders(field: Field, scale: Scale, texts: list[Ids], rows: Vectors, failures: Failures) -> list[Parity]:
    """All that are measured; all texts in one batch, and again, so that a graph may have made them.

    Weights are random, and their rounding may cost more than that of a trained model. So an engine may be as far from
    the reference as twice what transformers itself loses in the same dtype, where that is more than `NEEDED` allows.
    """

    def of(contender: Contender, needed: float | None) -> Parity | None:
        return failures.attempt(f"parity, {contender.name}", partial(_of, contender, scale.dtype, needed, texts, rows))

    peer = some([] if field.peer is None else [of(field.peer, None)])
    needed = min([NEEDED[scale.dtype], *(1 - 2 * (1 - each.cosine) for each in peer)])
    return [*some([of(each, needed) for each in field.roses]), *peer]


def _of(contender: Contender, dtype: str, needed: float | None, texts: list[Ids], rows: Vectors) -> Parity:
    cosine = min(lowest(contender.embed(texts), rows) for _ in range(3))
    return Parity(contender.name, dtype, cosine, needed)


def lowest(found: Vectors, rows: Vectors) -> float:
    """Cosine of the row that is furthest from what it should be; -1.0 where one is not finite."""
    if not np.isfinite(found).all():
        return -1.0
    a, b = found.astype(np.float64), rows.astype(np.float64)
    return float(((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).min())


def sameness(rose: Rose, tokens: int, sequences: int, vocabulary: int) -> Sameness:
    """One batch runs eagerly, another of the same size is captured, and the first one is replayed from its graph."""
    first = made_up(uneven(tokens, sequences), vocabulary, SEED + tokens)
    other = made_up(even(tokens, sequences), vocabulary, SEED + tokens + 1)
    before = rose.engine.graphs
    eager = rose.embed(first)
    rose.embed(other)
    replayed = rose.embed(first)
    after = rose.engine.graphs
    made = after.captured > before.captured and after.replayed >= before.replayed + 2
    return Sameness(rose.name, tokens, sequences, made, float(np.abs(eager - replayed).max()))


def even(tokens: int, sequences: int) -> Sequence[int]:
    """Lengths that differ by one at most."""
    return [tokens // sequences + (index < tokens % sequences) for index in range(sequences)]


def uneven(tokens: int, sequences: int) -> Sequence[int]:
    """Lengths as different as one long text and many short ones, and no longer than four times the middle."""
    share = tokens // sequences
    short = [max(1, share // 2)] * (sequences - 1)
    while len(short) and tokens - sum(short) > 4 * share:
        short = [length + 1 for length in short]
    return [*short, tokens - sum(short)]
