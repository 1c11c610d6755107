"""`Card`: what an engine says about its model. The limits that requests are checked against."""

from dataclasses import dataclass

from trellis_wire.contents import full_digest
from trellis_wire.v1 import embedding_pb2 as pb


@dataclass(frozen=True, slots=True)
class Card:
    """One engine's model."""

    digest: str
    """Changes with everything that changes vectors, what was found at the model's source included."""
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
    texts: str = ""
    """A name for the files that a gateway reads too; empty where the engine tells none."""
    ready_since: float = 0.0
    """Seconds of Unix time, by the engine's clock."""

    def fits(self, wanted: str | None, texts: str) -> bool:
        """Whether a gateway may ask for this: it is the model that is wanted, and has read the same files.

        A gateway that was told no digest takes any model, with prompts and rules of its own.
        """
        if wanted is None:
            return True
        return self.digest.partition("+")[0] == wanted and (not texts or self.texts in ("", texts))


def card_of(info: pb.InfoResponse) -> Card:
    """Read the answer of `Info`.

    Raises:
        ValueError: it lacks what a gateway needs.
    """
    for field in ("dimensions", "max_input_tokens", "vocabulary_size", "max_batch_tokens", "max_queued_tokens"):
        if getattr(info, field) < 1:
            raise ValueError(f"the engine gives no {field}")
    return Card(
        digest=full_digest(info.model_digest, info.contents),
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
        texts=info.texts,
        ready_since=info.ready_since,
    )
