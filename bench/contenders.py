"""Texts in, vectors out, in this process: Trellis's engine and sentence-transformers behind one call."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.texts import plain

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]

CONTENDERS = (
    "trellis float32",
    "trellis bfloat16",
    "sentence-transformers float32",
    "sentence-transformers bfloat16",
)
BASELINE = "sentence-transformers float32"
_BATCH_TOKENS = 512
_MAX_TOKENS = 256


def load(name: str, model: Path, threads: int) -> Encode:
    """Load one of `CONTENDERS`."""
    family, dtype = name.split()
    return _trellis(model, dtype, threads) if family == "trellis" else _sentence_transformers(model, dtype, threads)


def _trellis(model: Path, dtype: str, threads: int) -> Encode:
    """The library as Tulip drives it: first come, first served, under a token budget, two steps in flight."""
    from tulip_rose.rose.batch import Batch
    from tulip_rose.rose.engine import Engine
    from tulip_rose.rose.lazy import LazyTensor
    from tulip_rose.rose.options import EngineOptions
    from tulip_rose.sequence import OutputForm
    from tulip_rose.sequence import Sequence as Text

    engine = Engine.load(model, EngineOptions(dtype=dtype, device="cpu", threads=threads))
    tokenizer = plain(model / "tokenizer.json")
    tokenizer.enable_truncation(_MAX_TOKENS)
    form = OutputForm(engine.card.dimensions, engine.card.normalize)

    def encode(texts: Sequence[str]) -> Vectors:
        ids = [np.asarray(each.ids, dtype=np.int32) for each in tokenizer.encode_batch_fast(list(texts))]
        flights: deque[LazyTensor] = deque()
        rows: list[Vectors] = []
        for batch in _batches(ids):
            flights.append(engine.step(Batch.pack([Text.whole(each, form) for each in batch])))
            if len(flights) == 2:
                rows.append(flights.popleft().wait().array())
        rows.extend(flight.wait().array() for flight in flights)
        return np.concatenate(rows)

    return encode


def _batches(ids: Sequence[NDArray[np.int32]]) -> Iterator[list[NDArray[np.int32]]]:
    batch: list[NDArray[np.int32]] = []
    tokens = 0
    for each in ids:
        if batch and tokens + each.size > _BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(each)
        tokens += each.size
    if batch:
        yield batch


def _sentence_transformers(model: Path, dtype: str, threads: int) -> Encode:
    """`encode` with its defaults: batches of 32, sorted by length."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    kwargs = {"dtype": getattr(torch, dtype)}
    loaded = SentenceTransformer(str(model), device="cpu", local_files_only=True, model_kwargs=kwargs)

    def encode(texts: Sequence[str]) -> Vectors:
        return np.asarray(loaded.encode(list(texts), convert_to_numpy=True, show_progress_bar=False), dtype=np.float32)

    return encode
