"""What a caller may choose when an engine loads a model."""

from dataclasses import dataclass

DTYPES = ("float32", "bfloat16")
"""Not float16: activations of pplx-embed and EmbeddingGemma pass its largest number, and their rows become NaN."""
DEVICES = ("auto", "cpu", "cuda")


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Choices for one engine; the optional ones override what the model's own files say."""

    dtype: str = "float32"
    """Of weights and activations: one of DTYPES. Pooling and normalising are always float32."""
    device: str = "auto"
    """One of DEVICES; auto takes CUDA where it is."""
    threads: int = 0
    """CPU threads of one step; 0: all cores."""
    attention_backend: str = "auto"
    """auto, or the name of a backend that the device has."""
    model_digest: str | None = None
    """Digest to report; None: one made from the folder and these options."""
    pooling: str | None = None
    """A pooling of a manifest, or several joined with `+`."""
    normalize: bool | None = None
    """Whether vectors have unit norm unless a caller asks otherwise."""
    allowed_dimensions: tuple[int, ...] | None = None
    """Sizes that a vector may be cut to, besides the native one."""
    max_input_tokens: int | None = None
    """Longest sequence, special tokens included."""
    scores: bool = False
    """Whether the model is to score where its files do not say what it is for."""
