"""Ranking: the bodies of Jina, of Cohere and of text-embeddings-inference, told apart by their fields.

Knows no server and no model.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from ivy.api.decode import decoded
from ivy.api.pairs import CHOICES, Direction, RawScores, Truncate, full, some, truncation_to
from ivy.api.parse import check_count
from ivy.api.types import Priority, ServedName
from ivy.errors import BadRequest
from ivy.scoring.request import PairsRequest

EXAMPLE = {"query": "What is a trellis?", "documents": ["A frame that plants climb.", "A bulb."], "top_n": 1}
"""A body that works."""

Query = Annotated[str, Meta(description="What the documents are ranked for.", extra_json_schema={"minLength": 1})]
_RANKED = "What is ranked. An empty text has a score too."
TopN = Annotated[int, Meta(ge=1, le=2**31 - 1, description="How many of the best are given; all by default.")]


class RerankDocument(Struct, frozen=True):
    """One document as an object, of which the text is read."""

    text: str


class RerankBody(Struct, frozen=True):
    """What the clients of Jina and Cohere send."""

    query: Query
    documents: Annotated[list[str | RerankDocument], Meta(description=_RANKED, extra_json_schema={"minItems": 1})]
    model: ServedName | None = None
    top_n: TopN | None = None
    return_documents: Annotated[bool, Meta(description="Whether each result has its document in it.")] | None = False
    raw_scores: RawScores = False
    truncate: Truncate | None = None
    max_tokens_per_doc: (
        Annotated[int, Meta(ge=1, le=2**31 - 1, description="Tokens of a document that are read at most.")] | None
    ) = None
    rank_fields: Annotated[list[Literal["text"]], Meta(description="Of a document only its text is read.")] | None = (
        None
    )
    priority: Priority | None = None


class TeiRerankBody(Struct, frozen=True):
    """What the clients of text-embeddings-inference send."""

    query: Query
    texts: Annotated[list[str], Meta(description=_RANKED, extra_json_schema={"minItems": 1})]
    raw_scores: RawScores = False
    model: ServedName | None = None
    return_text: Annotated[bool, Meta(description="Whether each rank has its text in it.")] | None = False
    truncate: Truncate | None = None
    truncation_direction: Direction | None = None
    priority: Priority | None = None


_OWN, _TEI = "Jina and Cohere", "text-embeddings-inference"
_NAMES: dict[type[Struct], str] = {RerankBody: _OWN, TeiRerankBody: _TEI}


class RerankResult(Struct, frozen=True, omit_defaults=True):
    """One document's place."""

    index: Annotated[int, Meta(description="Where the document stands in the request.")]
    relevance_score: float
    document: RerankDocument | None = None


class RerankUsage(Struct, frozen=True):
    """What a request cost, in tokens of the model, special tokens included."""

    prompt_tokens: int
    total_tokens: int


class RerankApiVersion(Struct, frozen=True):
    """Of the route."""

    version: str


class RerankBilled(Struct, frozen=True):
    """What a request cost, in hundreds of documents."""

    search_units: int


class RerankMeta(Struct, frozen=True):
    """About an answer."""

    api_version: RerankApiVersion
    billed_units: RerankBilled


class RerankAnswer(Struct, frozen=True):
    """The best documents, the best first; those that are equally good in the order of the request."""

    id: str
    model: str
    results: list[RerankResult]
    usage: RerankUsage
    meta: RerankMeta
    object: Literal["list"] = "list"


class TeiRank(Struct, frozen=True, omit_defaults=True):
    """One text's place."""

    index: int
    score: float
    text: str | None = None


@dataclass(frozen=True, slots=True)
class RerankRequest:
    """What is to be ranked, and how the answer is written."""

    asked: PairsRequest
    documents: Sequence[str]
    is_tei: bool
    top_n: int | None
    with_documents: bool


_ANY = msgspec.json.Decoder(dict[str, msgspec.Raw])
_BODY = msgspec.json.Decoder(RerankBody)
_TEI_BODY = msgspec.json.Decoder(TeiRerankBody)
_CHOICES = {**CHOICES, "rank_fields[]": "text"}


def parse(body: bytes, max_inputs: int) -> RerankRequest:
    """Read and check a body of any shape.

    Raises:
        BadRequest: it is no JSON, has no shape that is known, or a field is missing or has a wrong type or value.
        TooManyInputs: there are more documents than `max_inputs`.
    """
    fields = {name for name, value in decoded(body, _ANY, {}).items() if bytes(value) != b"null"}
    if ("documents" in fields) == ("texts" in fields):
        raise _neither(fields)
    if "texts" in fields:
        _no_others(fields, TeiRerankBody, RerankBody)
        tei = decoded(body, _TEI_BODY, _CHOICES)
        asked = PairsRequest(
            tei.model,
            _pairs(tei.query, tei.texts, "texts", max_inputs),
            lambda _: "query",
            "texts[{}]".format,
            truncation_to(tei.truncate, tei.truncation_direction),
            is_raw=bool(tei.raw_scores),
            priority=tei.priority or 0,
        )
        return RerankRequest(asked, tei.texts, True, None, bool(tei.return_text))
    _no_others(fields, RerankBody, TeiRerankBody)
    own = decoded(body, _BODY, _CHOICES)
    texts = [each if isinstance(each, str) else each.text for each in own.documents]
    asked = PairsRequest(
        own.model,
        _pairs(own.query, texts, "documents", max_inputs),
        lambda _: "query",
        "documents[{}]".format,
        truncation_to(own.truncate, None),
        own.max_tokens_per_doc,
        is_raw=bool(own.raw_scores),
        priority=own.priority or 0,
    )
    return RerankRequest(asked, texts, False, own.top_n, bool(own.return_documents))


def _pairs(query: str, texts: Sequence[str], field: str, max_inputs: int) -> list[tuple[str, str | None]]:
    full(query, "query")
    some(texts, field)
    check_count(len(texts), max_inputs, field)
    return [(query, text) for text in texts]


def _no_others(present: Set[str], shape: type[Struct], other: type[Struct]) -> None:
    """Check that a body of one shape asks for nothing in the words of the other one.

    Raises:
        BadRequest: it does.
    """
    strange = [name for name in other.__struct_fields__ if name in present and name not in shape.__struct_fields__]
    if strange:
        raise BadRequest(
            f"{strange[0]} is of the body of {_NAMES[other]}, this one is of {_NAMES[shape]}", param=strange[0]
        )


def _neither(present: Set[str]) -> BadRequest:
    """A body that has both marks or none: named is the shape of which it has more fields."""
    if {"documents", "texts"} <= present:
        return BadRequest(
            "documents (Jina, Cohere) and texts (text-embeddings-inference) are both there", param="texts"
        )
    if "inputs" in present and "query" not in present:
        return BadRequest(
            "query is missing, and texts or documents: a body with inputs is nearest to that of /predict",
            param="inputs",
        )
    own, tei = (len(present & set(kind.__struct_fields__)) for kind in (RerankBody, TeiRerankBody))
    if tei > own:
        return BadRequest("texts is missing: the body is nearest to that of text-embeddings-inference", param="texts")
    return BadRequest("documents is missing: the body is nearest to that of Jina and Cohere", param="documents")
