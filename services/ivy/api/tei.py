"""What the clients of text-embeddings-inference ask for that is about vectors and tokens, read. Knows no server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ivy.api.decode import decoded
from ivy.api.parse import inputs_of, texts_of
from ivy.api.request import EmbeddingsRequest, Form
from ivy.api.tei_types import DecodeBody, SimilarityBody, SimilarityParameters, TeiEmbedBody, TokenizeBody
from ivy.errors import BadRequest
from ivy.tokenize.truncation import Truncation

MAX_CHARACTERS = 256 * 1024
"""Of all texts of one request for their tokens: each token is written out, and takes a hundred times its id. As many
ids are made texts of at once."""

_CHOICES = {
    "truncation_direction": "left, right",
    "parameters.truncation_direction": "left, right",
}

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
    model: str | None


@dataclass(frozen=True, slots=True)
class DecodeRequest:
    """Token ids whose texts are wanted."""

    ids: Sequence[Sequence[int]]
    is_list: bool
    """Whether they came as a list of lists: then errors name them `ids[i]`, else `ids`."""
    skip_special: bool
    model: str | None

    def param(self, index: int) -> str:
        """What an error calls the list at `index`."""
        return f"ids[{index}]" if self.is_list else "ids"


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
        model=asked.model,
        texts=texts,
        ids=ids,
        field="inputs",
        is_list=is_list,
        form=Form(dimensions=asked.dimensions, normalize=asked.normalize is not False),
        prompt_name=asked.prompt_name,
        priority=asked.priority or 0,
        truncation=truncation_of_flags(asked.truncate, asked.truncation_direction),
        instead="true",
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
        model=asked.model,
        texts=[source, *texts_of(asked.inputs.sentences, "inputs.sentences", max_inputs)],
        field="inputs",
        prompt_name=how.prompt_name,
        priority=asked.priority or 0,
        truncation=truncation_of_flags(how.truncate, how.truncation_direction),
        instead="true",
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
    return TokenizeRequest(texts, asked.add_special_tokens is not False, asked.prompt_name, asked.model)


def parse_decode(body: bytes, max_inputs: int) -> DecodeRequest:
    """Read and check the body of `POST /decode`.

    Raises:
        BadRequest: it is no JSON, or a field is missing, has a wrong type or a wrong value.
        TooManyInputs: there are more than `max_inputs`.
    """
    asked = decoded(body, _DECODE, _CHOICES)
    _, ids, is_list = inputs_of([*asked.ids], "ids", max_inputs)
    size = sum(map(len, ids))
    if size > MAX_CHARACTERS:
        raise BadRequest(f"{size} token ids, of which {MAX_CHARACTERS} are put together at once", param="ids")
    return DecodeRequest(ids, is_list, asked.skip_special_tokens is not False, asked.model)


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
