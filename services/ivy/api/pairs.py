"""What the bodies of all routes about pairs of texts share. Knows no server."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from ivy.api.parse import truncation_of
from ivy.errors import BadRequest
from ivy.tokenize.truncation import Truncation

Truncate = Annotated[
    Literal["none", "start", "end", "NONE", "START", "END"] | bool,
    Meta(
        description="Which end of each text is cut off where a pair is too long, the longer text first; `none` (or "
        "false) refuses the pair, true is `end`. Default: as the model is configured, else `end`."
    ),
]
Direction = Annotated[
    Literal["left", "right", "Left", "Right"],
    Meta(description="Which side of a long text is cut off; `right` by default."),
]
RawScores = Annotated[bool, Meta(description="Whether scores are given before the model's activation.")] | None
CHOICES = {"truncate": "none, start, end, true, false", "truncation_direction": "left, right"}
"""What an error says of a field whose values can be counted."""


def truncation_to(truncate: str | bool | None, direction: str | None) -> Truncation | None:
    """Read `truncate` and, where it does not name a side itself, `truncation_direction`."""
    found = truncation_of(truncate)
    is_left = direction is not None and direction.lower() == "left"
    return Truncation.START if is_left and found is Truncation.END and truncate is True else found


def full(text: str, param: str) -> str:
    """Check a text without which there is nothing to ask.

    Raises:
        BadRequest: it is empty.
    """
    if not text:
        raise BadRequest(f"{param} is an empty text", param=param)
    return text


def some(items: Sequence[object], param: str) -> None:
    """Check that a list has something in it.

    Raises:
        BadRequest: it has not.
    """
    if not items:
        raise BadRequest(f"{param} is an empty list", param=param)
