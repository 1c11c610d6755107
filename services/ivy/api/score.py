"""`/v1/score`: pairs of texts, and a score for each, in their order. Knows no server and no model."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from ivy.api.decode import decoded
from ivy.api.pairs import CHOICES, RawScores, Truncate, full, some, truncation_to
from ivy.api.parse import check_count
from ivy.api.types import Priority, ServedName
from ivy.errors import BadRequest
from ivy.scoring.request import PairsRequest

EXAMPLE = {"text_1": "What is a trellis?", "text_2": ["A frame that plants climb.", "A bulb."]}
"""A body that works."""


_FIRST: dict[str, Any] = {"type": "string", "minLength": 1}
_SECOND: dict[str, Any] = {"type": "string"}
FORMS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("ScoreBody", field): [
        {**text, "title": "one text"},
        {"type": "array", "minItems": 1, "items": text, "title": "texts"},
    ]
    for field, text in (("text_1", _FIRST), ("text_2", _SECOND))
}
"""The forms of both sides."""


class ScoreBody(Struct, frozen=True):
    """One text with one or several, or each of several with its own."""

    text_1: Annotated[str | list[str], Meta(description="The first side: one text for all pairs, or one for each.")]
    text_2: Annotated[str | list[str], Meta(description="The second side, one text a pair.")]
    model: ServedName | None = None
    raw_scores: RawScores = False
    truncate: Truncate | None = None
    priority: Priority | None = None


class Score(Struct, frozen=True):
    """Of one pair."""

    index: int
    score: float
    object: Literal["score"] = "score"


class ScoreUsage(Struct, frozen=True):
    """What a request cost, in tokens of the model, special tokens included."""

    prompt_tokens: int
    total_tokens: int


class ScoreAnswer(Struct, frozen=True):
    """One score a pair, in the order of the request."""

    id: str
    created: int
    model: str
    data: list[Score]
    usage: ScoreUsage
    object: Literal["list"] = "list"


_DECODER = msgspec.json.Decoder(ScoreBody)


def parse(body: bytes, max_inputs: int) -> PairsRequest:
    """Read and check the body.

    Raises:
        BadRequest: it is no JSON, a field is missing or has a wrong type or value, or the sides do not fit together.
        TooManyInputs: there are more pairs than `max_inputs`.
    """
    asked = decoded(body, _DECODER, CHOICES)
    firsts, first = _side(asked.text_1, "text_1")
    seconds, second = _side(asked.text_2, "text_2")
    for index, text in enumerate(firsts):
        full(text, first.format(index))
    check_count(len(seconds), max_inputs, "text_2")
    if len(firsts) not in (1, len(seconds)):
        raise BadRequest(
            f"text_1 has {len(firsts)} texts and text_2 has {len(seconds)}: one and any, or equally many",
            param="text_2",
        )
    is_one = len(firsts) == 1
    pairs = [(firsts[0 if is_one else index], text) for index, text in enumerate(seconds)]
    return PairsRequest(
        asked.model,
        pairs,
        lambda index: first.format(0 if is_one else index),
        second.format,
        truncation_to(asked.truncate, None),
        is_raw=bool(asked.raw_scores),
        is_search=False,
        priority=asked.priority or 0,
    )


def _side(given: str | list[str], field: str) -> tuple[list[str], str]:
    """The texts of one side, and what an error calls one of them."""
    if isinstance(given, str):
        return [given], field
    some(given, field)
    return given, field + "[{}]"
