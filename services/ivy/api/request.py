"""`EmbeddingsRequest`, `DocumentsRequest`: what a client asked, validated. Knows no JSON, no tokenizer, no engine."""

from collections.abc import Sequence
from dataclasses import dataclass

from ivy.tokenize.truncation import Truncation
from ivy.vectors import VectorKind


@dataclass(frozen=True, slots=True)
class Form:
    """What is wanted of each vector."""

    kinds: tuple[VectorKind, ...] = (VectorKind.FLOAT32,)
    """All of them, of one pass."""
    dimensions: int | None = None
    """None: the model's own."""
    normalize: bool | None = None
    """None: as the model says."""
    dimensions_field: str = "dimensions"
    """What the caller calls the size."""
    sparse: bool = False
    """Whether weights of terms are wanted."""
    terms: int | None = None
    """The heaviest ones that are wanted of each input; None: all."""
    tokens: bool = False
    """Whether the vectors of tokens are wanted."""

    @property
    def outputs(self) -> dict[str, bool]:
        """Which kinds of rows are wanted, by what an engine calls them."""
        return {"dense": bool(self.kinds), "sparse": self.sparse, "tokens": self.tokens}


@dataclass(frozen=True, slots=True)
class EmbeddingsRequest:
    """Inputs, and what is to be done with them. Either `texts` or `ids` has something in it."""

    model: str | None
    """As the client called it, with its suffix; None where its API has no such field."""
    texts: Sequence[str]
    ids: Sequence[Sequence[int]] = ()
    field: str = "input"
    """What the caller calls the inputs."""
    is_list: bool = True
    """Whether the inputs came as a list: then errors name them `input[i]`, else `input`."""
    form: Form = Form()
    input_type: str | None = None
    prompt_name: str | None = None
    truncation: Truncation | None = None
    """None: as the model is configured."""
    max_tokens: int | None = None
    """The longest input that the caller wants read; None: the longest that the model reads."""
    priority: int = 0
    """How many levels it waits behind others, 0 to 999."""
    instead: str = "'end' or 'start'"
    """What `truncate` may be for an input that is too long to be taken."""

    @property
    def count(self) -> int:
        """How many inputs there are."""
        return len(self.texts) + len(self.ids)

    def param(self, index: int) -> str:
        """What an error calls the input at `index`."""
        return f"{self.field}[{index}]" if self.is_list else self.field


@dataclass(frozen=True, slots=True)
class DocumentsRequest:
    """Documents, each of which is a list of chunks that are embedded together."""

    model: str
    documents: Sequence[Sequence[str]]
    field: str
    """What the caller calls the documents."""
    form: Form
    input_type: str | None
    prompt_name: str | None = None
    priority: int = 0
    """How many levels it waits behind others, 0 to 999."""
    is_whole: bool = False
    """Whether a document that does not fit into one window is refused."""

    def param(self, document: int, chunk: int) -> str:
        """What an error calls a chunk."""
        return f"{self.field}[{document}][{chunk}]"
