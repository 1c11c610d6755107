"""`EmbeddingsRequest`: what a client asked, validated. Knows no JSON, no tokenizer and no engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from ivy.tokenize.truncation import Truncation


class Encoding(Enum):
    """How vectors are written."""

    FLOAT = "float"
    BASE64 = "base64"
    BASE64_INT8 = "base64_int8"
    BASE64_BINARY = "base64_binary"


@dataclass(frozen=True, slots=True)
class EmbeddingsRequest:
    """Inputs, and what is to be done with them. Either `texts` or `ids` has something in it."""

    model: str
    """As the client called it, with its suffix."""
    texts: Sequence[str]
    ids: Sequence[Sequence[int]]
    is_list: bool
    """Whether the inputs came as a list: then errors name them `input[i]`, else `input`."""
    encoding: Encoding
    dimensions: int | None
    input_type: str | None
    prompt_name: str | None
    truncation: Truncation | None
    """None: as the model is configured."""
    normalize: bool | None
    """None: as the model says."""

    @property
    def count(self) -> int:
        """How many inputs there are."""
        return len(self.texts) + len(self.ids)

    def param(self, index: int) -> str:
        """What an error calls the input at `index`."""
        return f"input[{index}]" if self.is_list else "input"
