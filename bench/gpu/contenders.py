"""Who is measured: this engine with each attention backend, and sentence-transformers. Ids in, vectors out."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from tulip_rose.rose.backends.table import FA2, FA3, FLASH4, TORCH, VARLEN
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError, TrialError
from tulip_rose.rose.lazy import LazyTensor
from tulip_rose.rose.options import GRAPHS_ON_CPU, EngineOptions, GraphOptions
from tulip_rose.sequence import Sequence as Text

from bench.gpu.failures import Failures
from bench.gpu.models import Ids, Shape, Vectors
from bench.gpu.scale import GPU, Scale

EAGER, GRAPHS = "off", "lazy"
PEER = "sentence-transformers"
_BACKENDS = (FLASH4, FA3, VARLEN, FA2)
_COMPILED = (FA3, FA2)
_PEER_BATCH = 32
_IN_FLIGHT = 2


class Contender(Protocol):
    """One who makes vectors."""

    name: str

    def embed(self, texts: Sequence[Ids]) -> Vectors:
        """The vectors of one batch, [texts, dimensions], in its order."""

    def stream(self, batches: Iterable[Sequence[Ids]]) -> int:
        """Make the vectors of batches, one after the other and as fast as it can; how many."""


@dataclass
class Rose:
    """This engine, as the loop drives it: two steps in flight."""

    name: str
    engine: Engine
    graphs: bool

    def batch(self, texts: Sequence[Ids]) -> Batch:
        """Packed, on the host."""
        form = self.engine.card.form()
        return Batch.pack([Text.whole(ids, form) for ids in texts])

    def embed(self, texts: Sequence[Ids]) -> Vectors:
        """See `Contender`."""
        rows: Vectors = self.engine.step(self.batch(texts)).wait().array()
        return rows

    def stream(self, batches: Iterable[Sequence[Ids]]) -> int:
        """See `Contender`."""
        flights: deque[LazyTensor] = deque()
        made = 0
        for texts in batches:
            flights.append(self.engine.step(self.batch(texts)))
            made += len(texts)
            if len(flights) == _IN_FLIGHT:
                flights.popleft().wait()
        for flight in flights:
            flight.wait()
        return made


class Peer:
    """sentence-transformers over transformers with SDPA: batches of 32 by length, padded, as its `encode` makes them.

    What `encode` does besides, which is to tokenize, is left out: ids come in, as they do to the engine.
    """

    def __init__(self, shape: Shape, folder: Path, device: str, dtype: str) -> None:
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
        from transformers import AutoModel

        self.name = PEER
        model = AutoModel.from_pretrained(folder, dtype=getattr(torch, dtype), attn_implementation="sdpa")
        modules = [_States(model), Pooling(model.config.hidden_size, shape.pooling), Normalize()]
        self._model = SentenceTransformer(modules=modules, device=device).eval()
        self._device = device

    def embed(self, texts: Sequence[Ids]) -> Vectors:
        """See `Contender`."""
        order = sorted(range(len(texts)), key=lambda index: -texts[index].size)
        rows = [self._padded([texts[index] for index in chunk]) for chunk in _chunks(order)]
        vectors = np.empty((len(texts), rows[0].shape[1]), np.float32)
        vectors[order] = np.concatenate(rows)
        return vectors

    def stream(self, batches: Iterable[Sequence[Ids]]) -> int:
        """See `Contender`."""
        return sum(len(self.embed(texts)) for texts in batches)

    def _padded(self, texts: Sequence[Ids]) -> Vectors:
        ids = torch.zeros(len(texts), max(text.size for text in texts), dtype=torch.int64)
        mask = torch.zeros_like(ids)
        for row, text in enumerate(texts):
            ids[row, : text.size] = torch.from_numpy(text)
            mask[row, : text.size] = 1
        with torch.inference_mode():
            made = self._model({"input_ids": ids.to(self._device), "attention_mask": mask.to(self._device)})
            vectors: Vectors = made["sentence_embedding"].float().cpu().numpy()
        return vectors


class _States(torch.nn.Module):
    """A model of transformers as a module of sentence-transformers, without a tokenizer."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        found = self.model(input_ids=features["input_ids"], attention_mask=features["attention_mask"])
        return {**features, "token_embeddings": found.last_hidden_state}


def _chunks(order: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(order), _PEER_BATCH):
        yield order[start : start + _PEER_BATCH]


@dataclass
class Field:
    """All contenders for one model.

    Attributes:
        roses: engines; the first is the one that is measured where one is enough.
        peer: None where it is not installed.
        left_out: who cannot be here, and why.
    """

    roses: list[Rose]
    peer: Peer | None
    left_out: list[str] = field(default_factory=list)

    @property
    def all(self) -> list[Contender]:
        """Everybody."""
        return [*self.roses, *([] if self.peer is None else [self.peer])]

    def close(self) -> None:
        """Give the device back."""
        for rose in self.roses:
            rose.engine.close()


def options(scale: Scale, backend: str, mode: str, dtype: str) -> EngineOptions:
    """Of an engine that is measured."""
    # An engine that has no graphs where they are asked for would be measured under a name that is not its own.
    graphs = GraphOptions(mode=mode, most_tokens=scale.batch_tokens, on_failure="fail")
    device = GPU if scale.device == GPU else GRAPHS_ON_CPU if mode == GRAPHS else scale.device
    threads = 1 if scale.small else 0
    return EngineOptions(
        dtype=dtype,
        device=device,
        threads=threads,
        attention_backend=backend,
        max_input_tokens=scale.longest,
        graphs=graphs,
    )


def gather(shape: Shape, folder: Path, scale: Scale, names: Sequence[str], failures: Failures) -> Field:
    """Load everybody who can be; `names` are those of backends, empty for all that need not be compiled first."""
    found = Field([], None)
    for name, backend, mode in _wanted(scale, names, found.left_out):
        asked = options(scale, backend, mode, scale.dtype)
        rose = failures.attempt(f"loading {name}", partial(_rose, name, folder, asked, found.left_out))
        found.roses += [] if rose is None else [rose]
    if find_spec("sentence_transformers") is None:
        found.left_out.append(f"{PEER}: not installed")
    else:
        peer = partial(Peer, shape, folder, scale.device, scale.dtype)
        found.peer = failures.attempt(f"loading {PEER}", peer)
    return found


def _rose(name: str, folder: Path, asked: EngineOptions, left_out: list[str]) -> Rose | None:
    """None where something stands against it, which is no failure: it is named as left out."""
    try:
        return Rose(name, Engine.load(folder, asked), asked.graphs.mode == GRAPHS)
    except TrialError:
        raise
    except LoadError as error:
        left_out.append(f"{name}: {error}")
        return None


def _wanted(scale: Scale, names: Sequence[str], left_out: list[str]) -> Iterator[tuple[str, str, str]]:
    """Names of contenders, with backend and mode."""
    if scale.device != GPU:
        yield "graphs, torch", "auto", GRAPHS
        yield "eager", "auto", EAGER
        return
    for backend in names or _BACKENDS:
        if backend == TORCH:
            yield f"eager, {TORCH}", TORCH, EAGER
        elif not names and backend in _COMPILED and find_spec("flashinfer") and not find_spec("flashinfer_jit_cache"):
            left_out.append(
                f"graphs, {backend}: compiled at first use, which takes minutes; install flashinfer-jit-cache, or name "
                f"it in --backends"
            )
        else:
            yield f"graphs, {backend}", backend, GRAPHS
    yield "eager, auto", "auto", EAGER
