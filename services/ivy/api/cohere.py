"""`POST /v2/embed`: what Cohere's clients send and what they are given. Knows no server and no model."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import msgspec
import orjson
from msgspec import Meta, Struct

from ivy.api import render, render_several
from ivy.api.decode import decoded
from ivy.api.parse import WITH_CHUNK, texts_of, truncation_of
from ivy.api.request import EmbeddingsRequest, Form
from ivy.api.types import Normalize, Priority, PromptName
from ivy.api.writing import DTYPES, Writing
from ivy.errors import BadRequest
from ivy.found import Embedded
from ivy.tokenize.truncation import Truncation
from ivy.vectors import VectorKind

EmbeddingType = Literal[
    "float", "float32", "float16", "bfloat16", "int8", "uint8", "binary", "ubinary", "base64", "sparse", "tokens"
]
_TYPES = "float, float32, float16, bfloat16, int8, uint8, binary, ubinary, base64, sparse, tokens"
_CHOICES = {"embedding_types[]": _TYPES, "truncate": "NONE, START, END, CHUNK"}
_WRITINGS = {name: Writing(kind, False) for name, kind in DTYPES.items()} | {
    "base64": Writing(VectorKind.FLOAT32, True)
}

EMBED_EXAMPLE = {
    "model": "all-minilm-l6-v2",
    "texts": ["What is a trellis?"],
    "input_type": "search_query",
    "embedding_types": ["float", "int8"],
}
"""A body that works."""


class EmbedContent(Struct, frozen=True):
    """One part of an input; only texts are read."""

    type: Literal["text", "image_url"]
    text: str | None = None


class EmbedInput(Struct, frozen=True):
    """One input in parts, which are read as one text with a line break between two of them."""

    content: list[EmbedContent]


class EmbedBody(Struct, frozen=True):
    """What `POST /v2/embed` takes: `texts`, or `inputs` whose parts are texts."""

    model: Annotated[str, Meta(description="A served name.")]
    texts: Annotated[list[str], Meta(description="The inputs.")] | None = None
    inputs: Annotated[list[EmbedInput], Meta(description="The inputs, in parts.")] | None = None
    images: Annotated[list[str], Meta(description="Refused unless empty: texts are read here.")] | None = None
    input_type: (
        Annotated[
            str,
            Meta(
                description="The role of the inputs: `search_query`, `search_document`, `classification` or "
                "`clustering`; a model without such a prompt takes the text as it is. Or the name of a prompt that the "
                "model has."
            ),
        ]
        | None
    ) = None
    embedding_types: (
        Annotated[
            list[EmbeddingType],
            Meta(
                description="The types of vectors to give, all of one pass; `float` by default. See `output_dtype` of "
                "`/v1/embeddings`; `base64` is little-endian float32. `sparse` are weights of terms and `tokens` "
                "vectors of tokens, of models that have them."
            ),
        ]
        | None
    ) = None
    prompt_name: PromptName | None = None
    output_dimension: (
        Annotated[int, Meta(ge=1, le=2**31 - 1, description="Size to cut vectors to; see the model.")] | None
    ) = None
    normalize: Normalize | None = None
    priority: Priority | None = None
    max_terms: (
        Annotated[
            int, Meta(ge=1, le=2**31 - 1, description="Of `sparse`: as many of the heaviest terms of a text are given.")
        ]
        | None
    ) = None
    max_tokens: (
        Annotated[int, Meta(ge=1, le=2**31 - 1, description="Longest input; the model's own limit holds as well.")]
        | None
    ) = None
    truncate: (
        Annotated[
            Literal["NONE", "START", "END", "CHUNK", "none", "start", "end", "chunk"],
            Meta(
                description="As in `/v1/embeddings`. Default: as the model is configured, else `END`, as Cohere has it."
            ),
        ]
        | None
    ) = None


class ApiVersion(Struct, frozen=True):
    """Of this route."""

    version: str


class BilledUnits(Struct, frozen=True):
    """What a request cost, in tokens of the model, special tokens included."""

    input_tokens: int


class EmbedMeta(Struct, frozen=True):
    """About an answer."""

    api_version: ApiVersion
    billed_units: BilledUnits


class EmbedAnswer(Struct, frozen=True):
    """What `POST /v2/embed` gives: for each type one vector a text, in the order of the texts."""

    id: str
    embeddings: Annotated[
        dict[str, list[Any]],
        Meta(
            description="By type: numbers or `base64`, a text; of `sparse` an object of `indices` and `values`; of "
            "`tokens` a list of vectors."
        ),
    ]
    texts: list[str]
    meta: EmbedMeta
    response_type: Literal["embeddings_by_type"] = "embeddings_by_type"


_DECODER = msgspec.json.Decoder(EmbedBody)


def parse_embed(body: bytes, max_inputs: int, configured: str | None) -> tuple[EmbeddingsRequest, Sequence[str]]:
    """Read and check the body of `POST /v2/embed`.

    Args:
        body: as it came.
        max_inputs: how many texts there may be.
        configured: the truncation of the model's configuration.

    Returns:
        What was asked, and the names of the types of its vectors, each once.

    Raises:
        BadRequest: it is no JSON, or a field is missing, has a wrong type or a wrong value.
        TooManyInputs: there are more than `max_inputs`.
    """
    asked = decoded(body, _DECODER, _CHOICES)
    texts, field = _texts(asked)
    types = list(dict.fromkeys(asked.embedding_types or ["float"]))
    kinds = tuple(dict.fromkeys(_WRITINGS[name].kind for name in types if name in _WRITINGS))
    default = Truncation.END if configured is None else None
    is_dense = kinds and not {"sparse", "tokens"} & set(types)
    request = EmbeddingsRequest(
        model=asked.model,
        texts=texts_of(texts, field, max_inputs),
        field=field,
        form=Form(
            kinds,
            asked.output_dimension,
            asked.normalize,
            "output_dimension",
            sparse="sparse" in types,
            terms=asked.max_terms,
            tokens="tokens" in types,
        ),
        input_type=asked.input_type,
        prompt_name=asked.prompt_name,
        priority=asked.priority or 0,
        truncation=truncation_of(asked.truncate) or default,
        max_tokens=asked.max_tokens,
        instead=WITH_CHUNK if is_dense else "'end' or 'start'",
    )
    return request, types


def render_embed(rows: Embedded, types: Sequence[str], texts: Sequence[str], answer_id: str) -> Iterator[bytes]:
    """Render an answer, in pieces between which a caller may pause.

    Args:
        rows: of all kinds that the types need.
        types: names of types, in the order of the answer.
        texts: what was embedded.
        answer_id: names this answer.
    """
    yield b'{"id":' + orjson.dumps(answer_id) + b',"response_type":"embeddings_by_type","embeddings":{'
    for place, name in enumerate(types):
        yield (b"," if place else b"") + orjson.dumps(name) + b":"
        yield from _rows(rows, name)
    meta: dict[str, Any] = {"api_version": {"version": "2"}, "billed_units": {"input_tokens": rows.tokens}}
    yield b'},"texts":' + orjson.dumps(texts) + b',"meta":' + orjson.dumps(meta) + b"}"


def _rows(rows: Embedded, name: str) -> Iterator[bytes]:
    """The rows of one type."""
    if name == "sparse":
        return render_several.indices_and_values(rows.sparse)
    if name == "tokens":
        return render_several.token_vectors(rows.token_rows)
    writing = _WRITINGS[name]
    return render.lists(rows.vectors[writing.kind], as_base64=writing.as_base64, kind=writing.kind)


def _texts(asked: EmbedBody) -> tuple[Sequence[str], str]:
    """The texts of a body, and the field that they came in."""
    if asked.images:
        raise BadRequest("images are not read here: this model takes texts", param="images")
    if (asked.texts is None) == (asked.inputs is None):
        raise BadRequest("one of texts and inputs must be there, and not both", param="texts")
    if asked.texts is not None:
        return asked.texts, "texts"
    return [_text(each, index) for index, each in enumerate(asked.inputs or ())], "inputs"


def _text(given: EmbedInput, index: int) -> str:
    for place, part in enumerate(given.content):
        if part.type != "text" or part.text is None:
            raise BadRequest("only parts of type text are read here", param=f"inputs[{index}].content[{place}]")
    return "\n".join(part.text or "" for part in given.content)
