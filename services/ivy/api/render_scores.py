"""Scores to the JSON of each shape of answer. Float32 is written as short as it can be read back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ivy.api.render import dumps
from ivy.scoring.ranking import ranked

DOCUMENTS_A_UNIT = 100


def results(
    scores: NDArray[np.float32],
    order: Sequence[int],
    documents: Sequence[str] | None,
    version: str,
    head: dict[str, Any],
) -> bytes:
    """An answer for the clients of Jina and Cohere.

    Args:
        scores: of all documents, in the order of the request.
        order: places of those that are given.
        documents: their texts; None: they are not given.
        version: of the route.
        head: the fields before the results.
    """
    found = [
        {"index": place, "relevance_score": scores[place]}
        | ({"document": {"text": documents[place]}} if documents is not None else {})
        for place in order
    ]
    units = -(-len(scores) // DOCUMENTS_A_UNIT)
    meta = {"api_version": {"version": version}, "billed_units": {"search_units": units}}
    return dumps({**head, "results": found, "meta": meta})


def ranks(scores: NDArray[np.float32], order: Sequence[int], texts: Sequence[str] | None) -> bytes:
    """An answer for the clients of text-embeddings-inference."""
    return dumps(
        [
            {"index": place} | ({"text": texts[place]} if texts is not None else {}) | {"score": scores[place]}
            for place in order
        ]
    )


def scored(scores: NDArray[np.float32], head: dict[str, Any]) -> bytes:
    """An answer of scores in the order of the request."""
    data = [{"index": index, "object": "score", "score": score} for index, score in enumerate(scores)]
    return dumps({**head, "data": data})


def predictions(scores: NDArray[np.float32], labels: Sequence[str], *, is_list: bool) -> bytes:
    """For each input its labels, the best first."""
    found = [[{"score": row[place], "label": labels[place]} for place in ranked(row, None)] for row in scores]
    return dumps(found if is_list else found[0])


def usage(tokens: int) -> dict[str, int]:
    """What a request cost."""
    return {"prompt_tokens": tokens, "total_tokens": tokens}
