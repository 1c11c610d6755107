"""`/predict` of text-embeddings-inference: texts or pairs, and a score for each label. Knows no server and no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from ivy.api.decode import decoded
from ivy.api.pairs import CHOICES, Direction, RawScores, Truncate, full, some, truncation_to
from ivy.api.parse import check_count
from ivy.api.types import Priority, ServedName
from ivy.errors import BadRequest
from ivy.scoring.request import PairsRequest, Texts

EXAMPLE = {"inputs": [["What is a trellis?", "A frame that plants climb."], ["A bulb."]]}
"""A body that works."""

_TEXT = {"type": "string", "minLength": 1}
FORMS: list[dict[str, Any]] = [
    {**_TEXT, "title": "one text"},
    {
        "type": "array",
        "prefixItems": [_TEXT],
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": 2,
        "title": "the one or two texts of one input",
    },
    {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "array",
            "prefixItems": [_TEXT],
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 2,
        },
        "title": "inputs of one or two texts",
    },
]
"""The forms of `inputs`."""


class PredictBody(Struct, frozen=True):
    """What the clients of text-embeddings-inference send."""

    inputs: Annotated[
        str | list[str | list[str]],
        Meta(description="One text; a list of the one or two texts of one input; or a list of such lists."),
    ]
    model: ServedName | None = None
    raw_scores: RawScores = False
    truncate: Truncate | None = None
    truncation_direction: Direction | None = None
    priority: Priority | None = None


class Prediction(Struct, frozen=True):
    """How much a label holds."""

    score: float
    label: str


@dataclass(frozen=True, slots=True)
class PredictRequest:
    """What is to be labelled, and whether it came as a list of inputs."""

    asked: PairsRequest
    is_list: bool


_DECODER = msgspec.json.Decoder(PredictBody)


def parse(body: bytes, max_inputs: int) -> PredictRequest:
    """Read and check the body.

    Raises:
        BadRequest: it is no JSON, or a field is missing or has a wrong type or value.
        TooManyInputs: there are more inputs than `max_inputs`.
    """
    asked = decoded(body, _DECODER, CHOICES)
    inputs, is_list = _inputs(asked.inputs)
    check_count(len(inputs), max_inputs, "inputs")
    name = "inputs[{}]" if is_list else "inputs"
    pairs = [_texts(each, name.format(index)) for index, each in enumerate(inputs)]
    truncation = truncation_to(asked.truncate, asked.truncation_direction)
    return PredictRequest(
        PairsRequest(
            asked.model,
            pairs,
            name.format,
            name.format,
            truncation,
            is_raw=bool(asked.raw_scores),
            is_search=False,
            priority=asked.priority or 0,
            wants_labels=True,
        ),
        is_list,
    )


def _inputs(given: str | list[str | list[str]]) -> tuple[Sequence[Sequence[str]], bool]:
    """The texts of each input, and whether there may be several."""
    if isinstance(given, str):
        return [[given]], False
    some(given, "inputs")
    texts = [each for each in given if isinstance(each, str)]
    lists = [each for each in given if not isinstance(each, str)]
    if texts and lists:
        raise BadRequest("inputs mixes texts and lists of texts", param="inputs")
    return (lists, True) if lists else ([texts], False)


def _texts(given: Sequence[str], param: str) -> Texts:
    if not 1 <= len(given) <= 2:
        raise BadRequest(f"{param} has {len(given)} texts: one input has one or two", param=param)
    full(given[0], param)
    return (given[0], given[1] if len(given) == 2 else None)
