"""The JSON of the API, as the structs that validate it. `openapi` describes it from the same structs.

Fields that nobody here knows are ignored, as servers of this API do: clients send fields of their own.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

TokenId = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""Which ids there are depends on the model, so whoever knows it refuses the others, negative ones too."""

EXAMPLE = {"input": ["What is a trellis?", "A frame that plants climb."], "model": "all-minilm-l6-v2"}
"""A body that works."""

INPUT_FORMS = [
    {"type": "string", "minLength": 1, "title": "one text"},
    {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}, "title": "texts"},
    {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}, "title": "token ids of one text"},
    {
        "type": "array",
        "minItems": 1,
        "items": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
        "title": "token ids of texts",
    },
]
"""The forms of `input`: a schema can say that the items of a list are of one kind, the type annotation cannot."""

Input = Annotated[
    str | list[str | TokenId | list[TokenId]],
    Meta(
        description="One text, texts, the token ids of one text, or lists of token ids. Token ids are taken as they "
        "are: no prompt and no special token is added."
    ),
]
EncodingFormat = Annotated[
    Literal["float", "base64", "base64_int8", "base64_binary"],
    Meta(
        description="How vectors are written: numbers; base64 of their little-endian bytes, float32 unless "
        "`output_dtype` says otherwise; base64 of int8, `clamp(round(127 tanh(x)))` of the vector before "
        "normalisation; base64 of one bit a dimension, set where the value is at least 0, least significant bit first."
    ),
]
OutputDtype = Annotated[
    Literal["float", "float32", "float16", "bfloat16", "int8", "uint8", "binary", "ubinary"],
    Meta(
        description="The type of the values; `float`, which is float32, by default. `int8` is "
        "`clamp(round(127 tanh(x)))` of the vector before normalisation and `uint8` is `int8 + 128`. `ubinary` has one "
        "bit a dimension, set where the value is above 0, most significant bit first, and `binary` is `ubinary - 128`. "
        "With `base64` it is the type of the bytes, little-endian."
    ),
]
Truncate = Annotated[
    Literal["none", "start", "end", "chunk", "NONE", "START", "END", "CHUNK"] | bool,
    Meta(
        description="What happens to an input that is too long: `start` or `end` is cut off, `none` (or false) refuses "
        "it, true is `end`. `chunk` reads all of it in windows and averages their vectors by tokens, which is near to, "
        "and not the same as, the vector of a model that could read it at once. The prompt belongs to the input. "
        "Default: as the model is configured, else `none`."
    ),
]

Priority = Annotated[
    int,
    Meta(
        ge=0,
        le=999,
        description="How urgent the request is: 0, the default, is the most urgent. Where engines are busy, a request "
        "waits as though it had come 10 ms later for each level; so nobody starves. Within a level it is first come, "
        "first served.",
    ),
]
ServedName = Annotated[str, Meta(description="A served name; whatever is served here by default.")]
PromptName = Annotated[str, Meta(description="The name of a prompt that the model has.")]
Normalize = Annotated[bool, Meta(description="Whether vectors have unit norm. Default: as the model says.")]

CHOICES = {
    "encoding_format": "float, base64, base64_int8, base64_binary",
    "output_dtype": "float, float32, float16, bfloat16, int8, uint8, binary, ubinary",
    "truncate": "none, start, end, chunk, true, false",
}
"""What an error says of a field whose values can be counted."""


class EmbeddingsBody(Struct, frozen=True, gc=False):
    """What `POST /v1/embeddings` takes."""

    input: Input
    model: Annotated[
        str,
        Meta(description="A served name. With `-query` or `-passage` after it, the prompt for that role is taken."),
    ]
    encoding_format: EncodingFormat | None = None
    output_dtype: OutputDtype | None = None
    dimensions: (
        Annotated[int, Meta(ge=1, le=2**31 - 1, description="Size to cut vectors to; see the model.")] | None
    ) = None
    output_dimension: (
        Annotated[int, Meta(ge=1, le=2**31 - 1, description="`dimensions`, as Voyage's clients call it.")] | None
    ) = None
    input_type: (
        Annotated[
            str,
            Meta(
                description="The role of the inputs: `query` (also `search_query`, `retrieval.query`) or `document` "
                "(also `passage`, `search_document`, `retrieval.passage`); a model without such a prompt takes the "
                "text as it is. Or the name of a prompt that the model has."
            ),
        ]
        | None
    ) = None
    prompt_name: PromptName | None = None
    truncate: Truncate | None = None
    truncation: (
        Annotated[bool, Meta(description="`truncate`, as Voyage's clients call it; read where that is absent.")] | None
    ) = None
    normalize: Normalize | None = None
    priority: Priority | None = None
    user: Annotated[str, Meta(description="Accepted as other servers do, and not used.")] | None = None


class Embedding(Struct, frozen=True):
    """One vector."""

    index: Annotated[int, Meta(description="The place of its input in the request.")]
    embedding: Annotated[list[float] | str, Meta(description="Numbers, or base64, as `encoding_format` asked.")]
    object: Literal["embedding"] = "embedding"


class Usage(Struct, frozen=True):
    """What a request cost, in tokens of the model, special tokens included."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsAnswer(Struct, frozen=True):
    """What `POST /v1/embeddings` gives."""

    data: list[Embedding]
    model: str
    usage: Usage
    object: Literal["list"] = "list"


class Model(Struct, frozen=True):
    """One served name."""

    id: str
    created: Annotated[int, Meta(description="When this process began to serve it, in seconds since 1970.")]
    object: Literal["model"] = "model"
    owned_by: str = "trellis"


class ModelList(Struct, frozen=True):
    """What `GET /v1/models` gives."""

    data: list[Model]
    object: Literal["list"] = "list"


class ErrorDetail(Struct, frozen=True):
    """Why a request was not answered. All four keys are always there."""

    message: str
    type: str
    param: Annotated[str | None, Meta(description="The field that is wrong, e.g. `input[3]`.")]
    code: str | None


class ErrorAnswer(Struct, frozen=True):
    """The body of every answer that is no success."""

    error: ErrorDetail


class State(Struct, frozen=True):
    """What `/healthz` and `/readyz` say."""

    status: str
