"""Whether a graph makes the vectors of the step that it was captured of: the texts to ask with, and how far is too far.

A graph that reads a wrong buffer gives rows that have nothing to do with the right ones. Between the same kernels in
the same sizes there is no difference at all, and where a library takes others while it is captured, one of rounding.
"""

from collections.abc import Callable, Iterator
from math import inf

import numpy as np
from numpy.typing import NDArray

from tulip_rose.rose.batch import Batch
from tulip_rose.rose.device import Launched
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.graphs.book import Run
from tulip_rose.rose.graphs.key import Buckets, Key
from tulip_rose.rose.graphs.prewarm import fullest
from tulip_rose.rose.lazy import Part
from tulip_rose.sequence import OutputForm, OutputKind, Sequence, Want

FAR = {"float32": 1e-3, "bfloat16": 5e-2}
"""How far rows may be apart, of their length or of 1 where they are shorter, by dtype of the activations."""


def texts(key: Key, buckets: Buckets, positions: int, form: OutputForm, vocabulary: int) -> Batch:
    """The fullest batch of a key, of ids from the whole vocabulary and of unequal lengths; the same at each call."""
    tokens, sequences = fullest(key, buckets, positions)
    rng = np.random.default_rng((key.tokens, key.slots))
    lengths = _lengths(rng, tokens, sequences, positions)
    return Batch.pack(
        [
            Sequence(rng.integers(0, vocabulary, length).astype(np.int32), (_want(form, length),), 0.0, inf)
            for length in lengths
        ]
    )


def compare(key: Key, run: Callable[[Run], Launched], dtype: str) -> None:
    """Run a step without its graph and with it.

    Args:
        key: of the step.
        run: puts the step on the device.
        dtype: of the activations.

    Raises:
        LoadError: the vectors are too far apart.
    """
    [eager], [replayed] = run(Run.EAGER).wait(None), run(Run.REPLAY).wait(None)
    far, limit = apart(eager, replayed), FAR[dtype]
    if far > limit:
        raise LoadError(
            f"graphs.verify: vectors of the graph of {key.size} are {far:.3g} of their length from those of the same "
            f"step without it, at most {limit:g} was expected: serve without graphs, and report it"
        )


def apart(one: Part, other: Part) -> float:
    """How far the rows that are furthest apart are, of their length or of 1; infinite where one alone is finite."""
    if not np.array_equal(one.finite, other.finite):
        return inf
    terms = max(_most_term(one), _most_term(other)) + 1
    pairs = zip(_rows(one, terms), _rows(other, terms), strict=True)
    return max((_far(first, second) for first, second in pairs), default=0.0)


def _want(form: OutputForm, length: int) -> Want:
    return Want(((0, 1 if form.kind is OutputKind.TOKENS else length),), form)


def _lengths(rng: np.random.Generator, tokens: int, sequences: int, positions: int) -> list[int]:
    """About equal parts, of which each second one has given some tokens to its neighbour."""
    lengths = [tokens // sequences + (index < tokens % sequences) for index in range(sequences)]
    for place in range(0, sequences - 1, 2):
        given = int(rng.integers(0, min(lengths[place], positions - lengths[place + 1] + 1)))
        lengths[place] -= given
        lengths[place + 1] += given
    return lengths


def _far(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(one - other) / max(1.0, float(np.linalg.norm(one))))


def _rows(part: Part, terms: int) -> Iterator[NDArray[np.float64]]:
    """Rows as values; those of weights of terms with zeros between them, so that equal terms have equal places."""
    if part.starts is None:
        yield from part.rows.astype(np.float64)
        return
    for words in _words(part):
        count = int(words[0])
        row = np.zeros(terms)
        row[words[1 : 1 + count]] = words[1 + count :].view(np.float32)
        yield row


def _most_term(part: Part) -> int:
    if part.starts is None:
        return 0
    return max((int(words[1 : 1 + words[0]].max(initial=0)) for words in _words(part)), default=0)


def _words(part: Part) -> Iterator[NDArray[np.int32]]:
    """Of each row of terms: their count, the terms, and the bits of their weights."""
    for place in range(part.finite.shape[0]):
        yield part.slice(place, 1).view(np.int32)
