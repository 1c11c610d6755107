"""The bodies of routes for weights of terms and vectors of tokens. Knows no server and no model."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from ivy.api.decode import decoded
from ivy.api.parse import inputs_of
from ivy.api.request import EmbeddingsRequest, Form
from ivy.api.tei import truncation_of_flags
from ivy.api.tei_types import Direction, Truncate
from ivy.api.types import Input, Priority, PromptName, ServedName

EXAMPLE = {"inputs": ["What is a trellis?", "A frame that plants climb."]}
_CHOICES = {"truncation_direction": "left, right"}


class EmbedSparseBody(Struct, frozen=True):
    """What `POST /embed_sparse` takes."""

    inputs: Input
    model: ServedName | None = None
    truncate: Truncate | None = None
    truncation_direction: Direction | None = None
    prompt_name: PromptName | None = None
    priority: Priority | None = None
    max_terms: (
        Annotated[int, Meta(ge=1, le=2**31 - 1, description="As many of the heaviest terms of a text are given.")]
        | None
    ) = None


class SparseValue(Struct, frozen=True):
    """A term and its weight."""

    index: Annotated[int, Meta(description="The token id of the term.")]
    value: float


class EmbedAllBody(Struct, frozen=True):
    """What `POST /embed_all` takes."""

    inputs: Input
    model: ServedName | None = None
    truncate: Truncate | None = None
    truncation_direction: Direction | None = None
    prompt_name: (
        Annotated[str, Meta(description="The name of a prompt that the model has; `query` makes queries of inputs.")]
        | None
    ) = None
    priority: Priority | None = None


_SPARSE = msgspec.json.Decoder(EmbedSparseBody)
_ALL = msgspec.json.Decoder(EmbedAllBody)


def parse_sparse(body: bytes, max_inputs: int) -> EmbeddingsRequest:
    """Read and check the body of `POST /embed_sparse`.

    Raises:
        BadRequest: it is no JSON, or a field is missing, has a wrong type or a wrong value.
        TooManyInputs: there are more than `max_inputs`.
    """
    asked = decoded(body, _SPARSE, _CHOICES)
    return _request(asked, Form((), sparse=True, terms=asked.max_terms), max_inputs)


def parse_all(body: bytes, max_inputs: int) -> EmbeddingsRequest:
    """Read and check the body of `POST /embed_all`.

    Raises:
        BadRequest: it is no JSON, or a field is missing, has a wrong type or a wrong value.
        TooManyInputs: there are more than `max_inputs`.
    """
    return _request(decoded(body, _ALL, _CHOICES), Form((), tokens=True), max_inputs)


def _request(asked: EmbedSparseBody | EmbedAllBody, form: Form, max_inputs: int) -> EmbeddingsRequest:
    texts, ids, is_list = inputs_of(asked.inputs, "inputs", max_inputs)
    return EmbeddingsRequest(
        model=asked.model,
        texts=texts,
        ids=ids,
        field="inputs",
        is_list=is_list,
        form=form,
        prompt_name=asked.prompt_name,
        priority=asked.priority or 0,
        truncation=truncation_of_flags(asked.truncate, asked.truncation_direction),
        instead="true",
    )
