"""The JSON of text-embeddings-inference that is about vectors and tokens, as the structs that validate it."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ivy.api.types import Input, Priority, PromptName, ServedName, TokenId

Direction = Annotated[
    Literal["left", "right", "Left", "Right"],
    Meta(description="Which side of a long input is cut off where `truncate` is true; `right` by default."),
]
Truncate = Annotated[
    bool, Meta(description="Whether a long input is cut, or refused. Default: as the model is configured.")
]

EMBED_EXAMPLE = {"inputs": ["What is a trellis?", "A frame that plants climb."]}
SIMILARITY_EXAMPLE = {
    "inputs": {"source_sentence": "What is a trellis?", "sentences": ["A frame that plants climb.", "A bulb."]}
}
TOKENIZE_EXAMPLE = {"inputs": "What is a trellis?"}
DECODE_EXAMPLE = {"ids": [101, 2054, 102]}


class TeiEmbedBody(Struct, frozen=True):
    """What `POST /embed` takes."""

    inputs: Input
    model: ServedName | None = None
    truncate: Truncate | None = None
    truncation_direction: Direction | None = None
    prompt_name: PromptName | None = None
    normalize: Annotated[bool, Meta(description="Whether vectors have unit norm.")] | None = True
    dimensions: (
        Annotated[int, Meta(ge=1, le=2**31 - 1, description="Size to cut vectors to; see the model.")] | None
    ) = None
    priority: Priority | None = None


class SimilarityInputs(Struct, frozen=True):
    """A text, and those that it is compared with."""

    source_sentence: str
    sentences: list[str]


class SimilarityParameters(Struct, frozen=True):
    """How the texts are read."""

    truncate: Truncate | None = None
    truncation_direction: Direction | None = None
    prompt_name: PromptName | None = None


class SimilarityBody(Struct, frozen=True):
    """What `POST /similarity` takes."""

    inputs: SimilarityInputs
    parameters: SimilarityParameters | None = None
    model: ServedName | None = None
    priority: Priority | None = None


class TokenizeBody(Struct, frozen=True):
    """What `POST /tokenize` takes."""

    inputs: Annotated[str | list[str], Meta(description="One text, or texts.")]
    add_special_tokens: bool | None = True
    prompt_name: PromptName | None = None
    model: ServedName | None = None


class TokenAnswer(Struct, frozen=True):
    """One token."""

    id: int
    text: Annotated[str, Meta(description="What it stands for; of a special token its name.")]
    special: bool
    start: Annotated[int | None, Meta(description="In characters of the text with its prompt; null if special.")]
    stop: int | None


class DecodeBody(Struct, frozen=True):
    """What `POST /decode` takes."""

    ids: Annotated[list[TokenId | list[TokenId]], Meta(description="The token ids of one text, or of several.")]
    skip_special_tokens: bool | None = True
    model: ServedName | None = None


class EmbeddingModelType(Struct, frozen=True):
    """Of a model that gives vectors."""

    pooling: str


class ScoringModelType(Struct, frozen=True):
    """Of a model that scores."""

    id2label: dict[str, str]
    label2id: dict[str, int]


class ModelType(Struct, frozen=True):
    """One of these, as the model is."""

    embedding: EmbeddingModelType | None = None
    reranker: ScoringModelType | None = None
    classifier: ScoringModelType | None = None


class InfoAnswer(Struct, frozen=True):
    """What `GET /info` gives."""

    model_id: str
    model_sha: Annotated[str | None, Meta(description="The digest of the model that is served.")]
    model_dtype: str
    model_type: ModelType
    max_input_length: int
    max_batch_tokens: int
    max_client_batch_size: int
    max_concurrent_requests: int
    auto_truncate: bool
    tokenization_workers: int
    version: str
