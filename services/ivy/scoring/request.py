"""`PairsRequest`: pairs of texts to be scored, validated. Knows no JSON, no tokenizer and no engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ivy.tokenize.truncation import Truncation

Texts = tuple[str, str | None]
"""The two sides of a pair; None for the second: one text that stands alone."""


@dataclass(frozen=True, slots=True)
class PairsRequest:
    """What a client asked."""

    model: str | None
    """As the client called it; None where its API has no such field."""
    pairs: Sequence[Texts]
    first: Callable[[int], str]
    """What an error calls the first side of the pair at an index."""
    second: Callable[[int], str]
    """What an error calls its second side."""
    truncation: Truncation | None = None
    """None: as the model is configured, else each pair is cut to what the model reads."""
    document_tokens: int | None = None
    """Tokens of a second side that are read at most; None: as many as there is room for."""
    is_raw: bool = False
    """Whether the activation is left out."""
    is_search: bool = True
    """Whether the first side is a query and the second one a document; else they are alike."""
    priority: int = 0
    """How many levels it waits behind others, 0 to 999."""
    wants_labels: bool = False
    """Whether the values of all labels are wanted; else there must be one value a pair."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How long a pair may be, and what happens to a longer one."""

    limit: int
    """Tokens, special ones included."""
    truncation: Truncation
    document_tokens: int | None = None
