"""`Card`: what an engine says about its model. The limits that requests are checked against."""

from dataclasses import dataclass

from trellis_wire.v1 import embedding_pb2 as pb


@dataclass(frozen=True, slots=True)
class Card:
    """One engine's model."""

    digest: str
    """Changes with everything that changes vectors."""
    dimensions: int
    """Of a native vector."""
    allowed_dimensions: frozenset[int]
    """Besides the native size."""
    max_input_tokens: int
    """Special tokens included."""
    vocabulary_size: int
    """Ids are 0 to one less."""
    max_batch_tokens: int
    max_queued_tokens: int
    task: str = "embed"
    """`embed` or `score`."""
    labels: tuple[str, ...] = ()
    """Of a model that scores: what each value of a row stands for."""
    pooling: str = ""
    """As in `spec.embedding`, e.g. `mean` or `cls+mean`."""
    normalize: bool = False
    """Whether vectors have unit norm where nobody says."""
    dtype: str = ""
    """float32 or bfloat16."""
    outputs: frozenset[str] = frozenset({"dense"})
    """The kinds of rows that it gives: dense, sparse, tokens."""
    token_dimensions: int = 0
    """Of the vector of a token."""
    max_terms: int = 0
    """Of a sparse row."""


def card_of(info: pb.InfoResponse) -> Card:
    """Read the answer of `Info`.

    Raises:
        ValueError: it lacks what a gateway needs.
    """
    for field in ("dimensions", "max_input_tokens", "vocabulary_size", "max_batch_tokens", "max_queued_tokens"):
        if getattr(info, field) < 1:
            raise ValueError(f"the engine gives no {field}")
    return Card(
        digest=info.model_digest,
        dimensions=info.dimensions,
        allowed_dimensions=frozenset(info.allowed_dimensions),
        max_input_tokens=info.max_input_tokens,
        vocabulary_size=info.vocabulary_size,
        max_batch_tokens=info.max_batch_tokens,
        max_queued_tokens=info.max_queued_tokens,
        task=info.task or "embed",
        labels=tuple(info.labels),
        pooling=info.pooling,
        normalize=info.normalize,
        dtype=info.dtype,
        outputs=frozenset(info.outputs or ("dense",)),
        token_dimensions=info.token_dimensions,
        max_terms=info.max_terms,
    )
