"""The card of a loaded model: what an engine tells about itself."""

from dataclasses import dataclass
from enum import Enum

from tulip_rose.sequence import OutputForm, OutputKind, VectorType


class Task(Enum):
    """What a model is for."""

    EMBED = "embed"
    SCORE = "score"
    """Its dense rows are one value a label, before any activation."""


@dataclass(frozen=True, slots=True)
class ModelCard:
    """Facts of the model as it is served."""

    architecture: str
    dtype: str
    device: str
    attention_backend: str
    dimensions: int
    """Of a native vector."""
    allowed_dimensions: tuple[int, ...]
    """Sizes that a vector may be cut to, besides the native one; ascending."""
    max_input_tokens: int
    """Longest sequence, special tokens included."""
    vocabulary_size: int
    pooling: str
    normalize: bool
    """Whether a vector has unit norm unless a caller asks otherwise."""
    model_digest: str
    """Changes with everything that changes vectors."""
    token_types: int = 0
    """Types of tokens that it tells apart; where it tells none apart, 0 or 1, it takes any."""
    include_prompt: bool = True
    """Whether a prompt is pooled with its text; if not, callers leave it out of the span."""
    task: Task = Task.EMBED
    labels: tuple[str, ...] = ()
    """Of a model that scores: what each value of a row stands for."""
    outputs: tuple[OutputKind, ...] = (OutputKind.DENSE,)
    """What can be asked for."""
    token_dimensions: int = 0
    """Of a token's vector; 0 where there is none."""
    max_terms: int = 0
    """Of a sparse row; 0 where there is none."""

    def form(self, kind: OutputKind | None = None) -> OutputForm:
        """The output that a caller gets who asks for nothing in particular, or for no more than its kind."""
        kind = kind or self.outputs[0]
        return OutputForm(self.dimensions_of(kind), self.normalize, VectorType.FLOAT32, kind)

    def dimensions_of(self, kind: OutputKind) -> int:
        """Of a native row of that kind; of sparse rows, the terms that one has at most."""
        native = {OutputKind.DENSE: self.dimensions, OutputKind.TOKENS: self.token_dimensions}
        return native.get(kind, self.max_terms)
