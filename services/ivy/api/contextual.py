"""`POST /v1/contextualizedembeddings`: what Perplexity's and Voyage's clients send and what they are given.

The two are told apart by their field of documents, `input` or `inputs`; Perplexity's default format is base64 of int8.
Knows no server and no model.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Annotated, Any, Literal

import msgspec
import orjson
from msgspec import Meta, Struct
from numpy.typing import NDArray

from ivy.api import render
from ivy.api.decode import decoded
from ivy.api.parse import check_count, form_of, texts_of, truncation_of
from ivy.api.request import DocumentsRequest
from ivy.api.types import CHOICES as TYPES
from ivy.api.types import Embedding, EncodingFormat, Normalize, OutputDtype, Priority, PromptName, Usage
from ivy.api.writing import Writing, writing_of
from ivy.chunks import MAX_ROWS
from ivy.errors import BadRequest
from ivy.tokenize.truncation import Truncation

EXAMPLE = {
    "inputs": [["A trellis is a frame.", "Ivy climbs it."], ["Tulips do not."]],
    "model": "all-minilm-l6-v2",
}
"""A body that works."""

CHOICES = {**TYPES, "truncate": "none, chunk, false"}
_CUTS = (Truncation.END, Truncation.START)

Chunks = list[list[str]]
Size = Annotated[int, Meta(ge=1, le=2**31 - 1, description="Size to cut vectors to; see the model.")]


class DocumentsBody(Struct, frozen=True):
    """What `POST /v1/contextualizedembeddings` takes: `input` (Perplexity) or `inputs` (Voyage), and not both.

    Each document is a list of chunks, which the model reads together.
    """

    model: Annotated[str, Meta(description="A served name.")]
    input: (
        Annotated[Chunks, Meta(description="Documents; then `encoding_format` is `base64_int8` by default.")] | None
    ) = None
    inputs: Annotated[Chunks, Meta(description="Documents.")] | None = None
    encoding_format: EncodingFormat | None = None
    output_dtype: OutputDtype | None = None
    dimensions: Size | None = None
    output_dimension: Size | None = None
    input_type: Annotated[str, Meta(description="The role of the documents; see `/v1/embeddings`.")] | None = None
    truncate: (
        Annotated[
            Literal["none", "chunk", "NONE", "CHUNK", "start", "end", "START", "END"] | bool,
            Meta(
                description="What happens to a document that is longer than one window: `none` (or false) refuses it, "
                "`chunk` reads it in windows, which is the default. Refused when `start`, `end` or true: a cut would "
                "leave chunks without a vector."
            ),
        ]
        | None
    ) = None
    prompt_name: PromptName | None = None
    normalize: Normalize | None = None
    priority: Priority | None = None
    truncation: Annotated[bool, Meta(description="`truncate`; read where that is absent.")] | None = None
    enable_auto_chunking: (
        Annotated[bool, Meta(description="Refused when true: chunks are made by the caller.")] | None
    ) = None


class DocumentEmbeddings(Struct, frozen=True):
    """The vectors of one document, one a chunk."""

    index: Annotated[int, Meta(description="The place of the document in the request.")]
    data: Annotated[list[Embedding], Meta(description="In the order of its chunks.")]
    object: Literal["list"] = "list"


class DocumentsAnswer(Struct, frozen=True):
    """What `POST /v1/contextualizedembeddings` gives."""

    data: list[DocumentEmbeddings]
    model: str
    usage: Usage
    object: Literal["list"] = "list"


_DECODER = msgspec.json.Decoder(DocumentsBody)


def parse_documents(body: bytes, max_inputs: int) -> tuple[DocumentsRequest, Writing]:
    """Read and check the body of `POST /v1/contextualizedembeddings`.

    Args:
        body: as it came.
        max_inputs: how many chunks there may be in all.

    Raises:
        BadRequest: it is no JSON, or a field is missing, has a wrong type or a wrong value.
        TooManyInputs: there are more than `max_inputs` chunks.
    """
    asked = decoded(body, _DECODER, CHOICES)
    documents, field = _documents(asked)
    if asked.enable_auto_chunking:
        raise BadRequest("documents are not split here: send their chunks", param="enable_auto_chunking")
    is_whole = _is_whole(asked)
    encoding = asked.encoding_format
    if field == "input" and encoding is None and asked.output_dtype is None:
        encoding = "base64_int8"
    writing = writing_of(encoding, asked.output_dtype)
    most = min(max_inputs, MAX_ROWS)
    check_count(sum(map(len, documents)), most, field)
    request = DocumentsRequest(
        model=asked.model,
        documents=[texts_of(chunks, f"{field}[{index}]", most) for index, chunks in enumerate(documents)],
        field=field,
        form=form_of(writing.kind, asked.dimensions, asked.output_dimension, asked.normalize),
        input_type=asked.input_type,
        prompt_name=asked.prompt_name,
        priority=asked.priority or 0,
        is_whole=is_whole,
    )
    return request, writing


def render_documents(
    rows: NDArray[Any], counts: Sequence[int], writing: Writing, model: str, tokens: int
) -> Iterator[bytes]:
    """Render an answer, in pieces between which a caller may pause.

    Args:
        rows: one row a chunk, document by document.
        counts: chunks of each document.
        writing: how a row is written.
        model: the name that was asked for.
        tokens: of all documents.
    """
    yield b'{"object":"list","data":['
    for index, (begin, end) in enumerate(pairwise(accumulate(counts, initial=0))):
        document = {"object": "list", "index": index, "data": render.objects(rows[begin:end], writing)}
        yield (b"," if index else b"") + render.dumps(document)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    yield b'],"model":' + orjson.dumps(model) + b',"usage":' + orjson.dumps(usage) + b"}"


def _is_whole(asked: DocumentsBody) -> bool:
    """Whether a document must be read at once."""
    field = "truncation" if asked.truncate is None else "truncate"
    found = truncation_of(asked.truncation if asked.truncate is None else asked.truncate)
    if found in _CUTS:
        raise BadRequest(
            "documents are not cut here, for chunks would be left without a vector: a long one is read in windows, or "
            "refused where truncate is 'none'",
            param=field,
        )
    return found is Truncation.NONE


def _documents(asked: DocumentsBody) -> tuple[Chunks, str]:
    if (asked.input is None) == (asked.inputs is None):
        raise BadRequest("one of input and inputs must be there, and not both", param="inputs")
    documents, field = (asked.inputs, "inputs") if asked.input is None else (asked.input, "input")
    if not documents:
        raise BadRequest(f"{field} is an empty list", param=field)
    return documents, field
