"""What a caller may choose when an engine loads a model."""

from dataclasses import dataclass

DTYPES = ("float32", "bfloat16")
"""Not float16: activations of pplx-embed and EmbeddingGemma pass its largest number, and their rows become NaN."""
DEVICES = ("auto", "cpu", "cuda")


GRAPH_MODES = ("lazy", "off")
"""lazy: a graph is captured when its sizes come back; off: steps are never captured."""
ON_CAPTURE_FAILURE = ("eager", "fail")
"""eager: those sizes are served without a graph; fail: an engine that cannot warm one up does not start."""

GRAPHS_ON_CPU = "cpu-graphs"
"""A device that does on a CPU what graphs do on a GPU, for tests: it is not faster than eager steps."""


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """Steps of fixed sizes, where the device has graphs."""

    mode: str = "lazy"
    """One of GRAPH_MODES."""
    multiple: int = 64
    """Tokens are padded to multiples of it; beyond 16 of them, to multiples of four times as many."""
    slots: tuple[int, ...] = (2, 8, 32, 128, 512)
    """Numbers of sequences that there are steps for, ascending."""
    most_tokens: int = 16384
    """Of one step; at least as many as the longest input has."""
    most: int = 64
    """Graphs that are held; the one used longest ago makes room."""
    prewarm: tuple[tuple[int, int], ...] = ()
    """Tokens and slots of the graphs that `Engine.prewarm` captures; at most `most` of them."""
    on_failure: str = "eager"
    """What comes of a graph of that list that cannot be captured: one of ON_CAPTURE_FAILURE."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Choices for one engine; the optional ones override what the model's own files say."""

    dtype: str = "float32"
    """Of weights and activations: one of DTYPES. Pooling and normalising are always float32."""
    device: str = "auto"
    """One of DEVICES, or GRAPHS_ON_CPU; auto takes CUDA where it is."""
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
    graphs: GraphOptions = GraphOptions()
    """Of a device that has graphs."""
