"""`Chunk`: a run of a request's inputs that goes to one engine in one call. Splitting and merging; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_ROWS = 2048
"""Of one chunk: with 4096 dimensions of float32, half of what one gRPC message may hold."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Inputs `first` to `first + len(inputs)` of a request."""

    first: int
    inputs: Sequence[Sequence[int]]
    tokens: int
    """Of all of its inputs: what an engine's time is proportional to."""


def split(inputs: Sequence[Sequence[int]], budget: int, rows: int = MAX_ROWS) -> list[Chunk]:
    """Split inputs, in order, into chunks of at most `budget` tokens and `rows` inputs.

    An input that is longer than the budget is a chunk of its own.
    """
    chunks: list[Chunk] = []
    first, tokens = 0, 0
    for place, ids in enumerate(inputs):
        if place > first and (tokens + len(ids) > budget or place - first == rows):
            chunks.append(Chunk(first, inputs[first:place], tokens))
            first, tokens = place, 0
        tokens += len(ids)
    if inputs:
        chunks.append(Chunk(first, inputs[first:], tokens))
    return chunks


def merge(chunks: Sequence[Chunk], answers: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put the rows of each chunk at the places of its inputs.

    Args:
        chunks: all chunks of one request, in any order.
        answers: for each of them its rows `[inputs of the chunk, width]`, all of one type and width.

    Returns:
        One row an input of the request, in the caller's order.

    Raises:
        ValueError: an answer does not have one row an input.
    """
    for chunk, rows in zip(chunks, answers, strict=True):
        if len(rows) != len(chunk.inputs):
            raise ValueError(f"{len(rows)} rows for {len(chunk.inputs)} inputs")
    if len(answers) == 1:
        return answers[0]
    count = sum(len(chunk.inputs) for chunk in chunks)
    merged = np.empty((count, answers[0].shape[1]), dtype=answers[0].dtype)
    for chunk, rows in zip(chunks, answers, strict=True):
        merged[chunk.first : chunk.first + len(rows)] = rows
    return merged
