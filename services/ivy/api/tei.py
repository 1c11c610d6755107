"""What the clients of text-embeddings-inference send and get that is about vectors and tokens. Knows no server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from ivy.api.decode import decoded
from ivy.api.parse import inputs_of, texts_of
from ivy.api.request import EmbeddingsRequest, Form
from ivy.api.types import Input, TokenId
from ivy.errors import BadRequest
from ivy.tokenize.truncation import Truncation

MAX_CHARACTERS = 256 * 1024
"""Of all texts of one request for their tokens: each token is written out, and takes a hundred times its id. As many
ids are made texts of at once."""

Direction = Annotated[
    Literal["left", "right", "Left", "Right"],
    Meta(description="Which side of a long input is cut off where `truncate` is true; `right` by default."),
]
Truncate = Annotated[
    bool, Meta(description="Whether a long input is cut, or refused. Default: as the model is configured.")
]
PromptName = Annotated[str, Meta(description="The name of a prompt that the model has.")]
_CHOICES = {
    "truncation_direction": "left, right",
    "parameters.truncation_direction": "left, right",
}

EMBED_EXAMPLE = {"inputs": ["What is a trellis?", "A frame that plants climb."]}
SIMILARITY_EXAMPLE = {
    "inputs": {"source_sentence": "What is a trellis?", "sentences": ["A frame that plants climb.", "A bulb."]}
}
TOKENIZE_EXAMPLE = {"inputs": "What is a trellis?"}
DECODE_EXAMPLE = {"ids": [101, 2054, 102]}


class TeiEmbedBody(Struct, frozen=True):
    """What `POST /embed` takes."""

    inputs: Input
    truncate: Truncate | None = None
    truncation_direction: Direction | None = None
    prompt_name: PromptName | None = None
    normalize: Annotated[bool, Meta(description="Whether vectors have unit norm.")] | None = True
    dimensions: (
        Annotated[int, Meta(ge=1, le=2**31 - 1, description="Size to cut vectors to; see the model.")] | None
    ) = None


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


class TokenizeBody(Struct, frozen=True):
    """What `POST /tokenize` takes."""

    inputs: Annotated[str | list[str], Meta(description="One text, or texts.")]
    add_special_tokens: bool = True
    prompt_name: PromptName | None = None


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
    skip_special_tokens: bool = True


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


_EMBED = msgspec.json.Decoder(TeiEmbedBody)
_SIMILARITY = msgspec.json.Decoder(SimilarityBody)
_TOKENIZE = msgspec.json.Decoder(TokenizeBody)
_DECODE = msgspec.json.Decoder(DecodeBody)


@dataclass(frozen=True, slots=True)
class TokenizeRequest:
    """Texts whose tokens are wanted."""

    texts: Sequence[str]
    with_special: bool
    prompt_name: str | None


@dataclass(frozen=True, slots=True)
class DecodeRequest:
    """Token ids whose texts are wanted."""

    ids: Sequence[Sequence[int]]
    skip_special: bool


class SimilarityRequest(EmbeddingsRequest):
    """The text that others are compared with, and those: the first of the texts, and the rest."""

    def param(self, index: int) -> str:
        """What an error calls the text at `index`."""
        return f"inputs.sentences[{index - 1}]" if index else "inputs.source_sentence"


def parse_embed(body: bytes, max_inputs: int) -> EmbeddingsRequest:
    """Read and check the body of `POST /embed`.

    Raises:
        BadRequest: it is no JSON, or a field is missing, has a wrong type or a wrong value.
        TooManyInputs: there are more than `max_inputs`.
    """
    asked = decoded(body, _EMBED, _CHOICES)
    texts, ids, is_list = inputs_of(asked.inputs, "inputs", max_inputs)
    return EmbeddingsRequest(
        model=None,
        texts=texts,
        ids=ids,
        field="inputs",
        is_list=is_list,
        form=Form(dimensions=asked.dimensions, normalize=asked.normalize),
        prompt_name=asked.prompt_name,
        truncation=truncation_of_flags(asked.truncate, asked.truncation_direction),
    )


def parse_similarity(body: bytes, max_inputs: int) -> SimilarityRequest:
    """Read and check the body of `POST /similarity`.

    Raises:
        BadRequest: it is no JSON, or a field is missing, has a wrong type or a wrong value.
        TooManyInputs: there are more than `max_inputs`.
    """
    asked = decoded(body, _SIMILARITY, _CHOICES)
    how = asked.parameters or SimilarityParameters()
    source = asked.inputs.source_sentence
    if not source:
        raise BadRequest("inputs.source_sentence is an empty text", param="inputs.source_sentence")
    return SimilarityRequest(
        model=None,
        texts=[source, *texts_of(asked.inputs.sentences, "inputs.sentences", max_inputs)],
        field="inputs",
        prompt_name=how.prompt_name,
        truncation=truncation_of_flags(how.truncate, how.truncation_direction),
    )


def parse_tokenize(body: bytes, max_inputs: int) -> TokenizeRequest:
    """Read and check the body of `POST /tokenize`.

    Raises:
        BadRequest: it is no JSON, or a field is missing, has a wrong type or a wrong value, or the texts are too long.
        TooManyInputs: there are more than `max_inputs`.
    """
    asked = decoded(body, _TOKENIZE, _CHOICES)
    texts, _, _ = inputs_of(asked.inputs if isinstance(asked.inputs, str) else [*asked.inputs], "inputs", max_inputs)
    size = sum(map(len, texts))
    if size > MAX_CHARACTERS:
        raise BadRequest(f"{size} characters, of which {MAX_CHARACTERS} are taken apart at once", param="inputs")
    return TokenizeRequest(texts, asked.add_special_tokens, asked.prompt_name)


def parse_decode(body: bytes, max_inputs: int) -> DecodeRequest:
    """Read and check the body of `POST /decode`.

    Raises:
        BadRequest: it is no JSON, or a field is missing, has a wrong type or a wrong value.
        TooManyInputs: there are more than `max_inputs`.
    """
    asked = decoded(body, _DECODE, _CHOICES)
    _, ids, _ = inputs_of([*asked.ids], "ids", max_inputs)
    size = sum(map(len, ids))
    if size > MAX_CHARACTERS:
        raise BadRequest(f"{size} token ids, of which {MAX_CHARACTERS} are put together at once", param="ids")
    return DecodeRequest(ids, asked.skip_special_tokens)


def token_answer(id: int, text: str, begin: int, end: int, *, is_special: bool) -> dict[str, Any]:
    """One token as it is answered."""
    places = {"start": None, "stop": None} if is_special else {"start": begin, "stop": end}
    return {"id": id, "text": text, "special": is_special, **places}


def truncation_of_flags(truncate: bool | None, direction: str | None) -> Truncation | None:
    """What happens to long inputs, by the two fields of these bodies; None: as the model is configured."""
    if truncate is None:
        return None
    if not truncate:
        return Truncation.NONE
    return Truncation.START if direction is not None and direction.lower() == "left" else Truncation.END
