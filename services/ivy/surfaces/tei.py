"""The routes of text-embeddings-inference that are about vectors and tokens."""

import asyncio
from importlib.metadata import version
from typing import Any

from aiohttp import web

from ivy.api import openapi, render, tei, tei_types
from ivy.api.types import INPUT_FORMS
from ivy.client.card import Card
from ivy.door import RETRY_UNKNOWN_S
from ivy.errors import NoEngine
from ivy.surfaces import scoring
from ivy.surfaces.parts import Parts, joined, json_of
from ivy.surfaces.route import Route, Surface
from ivy.timing import TIMING, WORK, Work
from ivy.vectors import VectorKind


async def embed(parts: Parts, request: web.Request) -> web.Response:
    """Embed the inputs of a request."""
    async with parts.asked(request, lambda data: tei.parse_embed(data, parts.config.max_inputs)) as (asked, deadline):
        async with asyncio.timeout(parts.config.request_timeout_s):
            found = await parts.service.embed(asked, request[TIMING], deadline)
        request[WORK] = Work(asked.count, found.tokens)
        return await joined(render.lists(found.vectors[VectorKind.FLOAT32]))


async def whatever(parts: Parts, request: web.Request) -> web.Response:
    """Do what the model is for: embed, rank, or label."""
    cards = parts.engines.cards()
    if not cards or cards[0].task == "embed":
        return await embed(parts, request)
    return await (scoring.rank if len(cards[0].labels) == 1 else scoring.labels)(parts, request)


async def similarity(parts: Parts, request: web.Request) -> web.Response:
    """Compare a text with others, as the model's files say that its vectors are compared."""
    async with parts.asked(request, lambda data: tei.parse_similarity(data, parts.config.max_inputs)) as (
        asked,
        deadline,
    ):
        async with asyncio.timeout(parts.config.request_timeout_s):
            found = await parts.service.embed(asked, request[TIMING], deadline)
        request[WORK] = Work(asked.count, found.tokens)
        rows = found.vectors[VectorKind.FLOAT32]
        scores = parts.service.similarity.between(rows[0], rows[1:])
        return web.Response(body=render.dumps(scores), content_type="application/json")


async def tokenize(parts: Parts, request: web.Request) -> web.Response:
    """Show the tokens of texts."""
    async with parts.asked(request, lambda data: tei.parse_tokenize(data, parts.config.max_inputs)) as (asked, _):
        async with asyncio.timeout(parts.config.request_timeout_s):
            found = await parts.tokens.of(asked.texts, asked.model, asked.prompt_name, with_special=asked.with_special)
        return json_of(
            [
                [
                    tei.token_answer(each.id, each.text, each.begin, each.end, is_special=each.is_special)
                    for each in text
                ]
                for text in found
            ]
        )


async def decode(parts: Parts, request: web.Request) -> web.Response:
    """Show the texts of token ids."""
    async with parts.asked(request, lambda data: tei.parse_decode(data, parts.config.max_inputs)) as (asked, _):
        async with asyncio.timeout(parts.config.request_timeout_s):
            return json_of(
                await parts.tokens.texts(asked.ids, asked.model, asked.param, skip_special=asked.skip_special)
            )


async def info(parts: Parts, _: web.Request) -> web.Response:
    """Describe the model and the limits of requests."""
    cards = parts.engines.cards()
    if not cards:
        raise NoEngine("no engine is ready to tell of its model", retry_after_s=RETRY_UNKNOWN_S)
    card, config = cards[0], parts.config
    return json_of(
        {
            "model_id": config.served_names[0],
            "model_sha": card.digest,
            "model_dtype": card.dtype,
            "model_type": _model_type(card),
            "max_input_length": card.max_input_tokens,
            "max_batch_tokens": card.max_batch_tokens,
            "max_client_batch_size": config.max_inputs,
            # Requests are bounded by their tokens; of shortest ones so many fit.
            "max_concurrent_requests": config.max_queued_tokens or sum(each.max_queued_tokens for each in cards),
            "auto_truncate": _auto_truncate(card, config.embedding.truncation),
            "tokenization_workers": config.tokenizer_threads,
            "version": version("trellis-serve"),
        }
    )


def _auto_truncate(card: Card, truncation: str | None) -> bool:
    """Whether what is too long is cut where a request says nothing; pairs are, unless the manifest says otherwise."""
    return truncation != "error" if card.task == "score" else truncation in ("end", "start")


def _model_type(card: Card) -> dict[str, Any]:
    if card.task == "embed":
        return {"embedding": {"pooling": card.pooling}}
    labels = {
        "id2label": {str(place): label for place, label in enumerate(card.labels)},
        "label2id": {label: place for place, label in enumerate(card.labels)},
    }
    return {"reranker" if len(card.labels) == 1 else "classifier": labels}


_NUMBERS = {"type": "array", "items": {"type": "number"}}
_LISTS = {"type": "array", "items": _NUMBERS}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_TOKENS = {"type": "array", "items": {"type": "array", "items": {"$ref": openapi.REF.format(name="TokenAnswer")}}}


_EMBED = openapi.work(
    "Embed texts, as the clients of text-embeddings-inference ask.", "TeiEmbedBody", tei_types.EMBED_EXAMPLE, _LISTS
)
_WHATEVER = openapi.work(
    "Embed texts, or rank or label them where the model is for that: as /embed, /rerank or /predict.",
    ("TeiEmbedBody", "TeiRerankBody", "PredictBody"),
    tei_types.EMBED_EXAMPLE,
    {"anyOf": [_LISTS, scoring.RANKS, scoring.LABELS]},
)


SURFACE = Surface(
    routes=(
        Route("POST", "/embed", embed, _EMBED, is_work=True),
        Route("POST", "/", whatever, _WHATEVER, is_work=True),
        Route(
            "POST",
            "/similarity",
            similarity,
            openapi.work("Compare a text with others.", "SimilarityBody", tei_types.SIMILARITY_EXAMPLE, _NUMBERS),
            is_work=True,
        ),
        Route(
            "POST",
            "/tokenize",
            tokenize,
            openapi.work("Show the tokens of texts.", "TokenizeBody", tei_types.TOKENIZE_EXAMPLE, _TOKENS),
        ),
        Route(
            "POST",
            "/decode",
            decode,
            openapi.work("Show the texts of token ids.", "DecodeBody", tei_types.DECODE_EXAMPLE, _TEXTS),
        ),
        Route("GET", "/info", info, openapi.get("Describe the model.", openapi.json_ref("InfoAnswer"), (503,))),
    ),
    structs=(
        tei_types.TeiEmbedBody,
        tei_types.SimilarityBody,
        tei_types.TokenizeBody,
        tei_types.TokenAnswer,
        tei_types.DecodeBody,
        tei_types.InfoAnswer,
    ),
    forms={
        ("TeiEmbedBody", "inputs"): INPUT_FORMS,
        ("DecodeBody", "ids"): INPUT_FORMS[2:],
    },
)
