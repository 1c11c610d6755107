"""The card of a loaded model: what an engine tells about itself."""

from dataclasses import dataclass

from tulip_rose.sequence import OutputForm, VectorType


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

    def form(self) -> OutputForm:
        """The output that a caller gets who asks for nothing in particular."""
        return OutputForm(self.dimensions, self.normalize, VectorType.FLOAT32)
