"""`ByVectors`: how alike the two texts of each pair are, with a model that embeds. Knows no HTTP.

The score is the cosine of the two vectors. In a search the query gets the model's prompt for queries and each document
the one for documents, where the model has them; else both get its default prompt.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ivy.api.request import EmbeddingsRequest, Form
from ivy.calls import together
from ivy.found import Embedded
from ivy.scoring.request import PairsRequest
from ivy.timing import Timing
from ivy.tokenize.truncation import Truncation
from ivy.vectors import VectorKind


class Embedder(Protocol):
    """What gives vectors."""

    async def embed(self, request: EmbeddingsRequest, timing: Timing, deadline: float) -> Embedded:
        """One vector a text."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Cosines `[pairs, 1]`, and the tokens that they cost."""

    values: NDArray[np.float32]
    tokens: int


class ByVectors:
    """Compares the texts of pairs."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def alike(self, request: PairsRequest, truncation: Truncation, timing: Timing, deadline: float) -> Alike:
        """Compare the texts of each pair. A text that comes twice is embedded once.

        Raises:
            ApiError: the request is wrong, there is no room, or no engine.
            grpc.RpcError: an engine failed.
        """
        queries = _Side.of([first for first, _ in request.pairs], request.first)
        documents = _Side.of([second or "" for _, second in request.pairs], request.second)
        roles = ("query", "document") if request.is_search else (None, None)
        left, right = await together(
            [
                self._embedder.embed(queries.asked(request, roles[0], truncation, None), timing, deadline),
                self._embedder.embed(
                    documents.asked(request, roles[1], truncation, request.document_tokens), timing, deadline
                ),
            ]
        )
        of_first = left.vectors[VectorKind.FLOAT32][queries.places]
        of_second = right.vectors[VectorKind.FLOAT32][documents.places]
        values = np.einsum("ij,ij->i", of_first, of_second, dtype=np.float64)
        # The vectors are of unit norm as float32 can tell, so that a product may lie a little past 1.
        return Alike(np.clip(values, -1, 1).astype(np.float32)[:, None], left.tokens + right.tokens)


@dataclass(frozen=True, slots=True)
class _SideRequest(EmbeddingsRequest):
    """The different texts of one side, which errors call as the pairs call them."""

    name: Callable[[int], str] = str

    def param(self, index: int) -> str:
        """What an error calls the text at `index`."""
        return self.name(index)


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of all pairs."""

    texts: Sequence[str]
    """Each once."""
    places: Sequence[int]
    """For each pair the place of its text."""
    name: Callable[[int], str]
    """What an error calls the text of the pair at an index."""

    @classmethod
    def of(cls, texts: Sequence[str], name: Callable[[int], str]) -> "_Side":
        """Find the texts that differ."""
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        return cls(list(places), [places[text] for text in texts], name)

    def asked(
        self, request: PairsRequest, role: str | None, truncation: Truncation, max_tokens: int | None
    ) -> EmbeddingsRequest:
        """The request for the vectors of this side."""
        return _SideRequest(
            model=request.model,
            texts=self.texts,
            form=Form(normalize=True),
            input_type=role,
            truncation=truncation,
            max_tokens=max_tokens,
            priority=request.priority,
            name=lambda place: self.name(self.places.index(place)),
        )
