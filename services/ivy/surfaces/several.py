"""The routes of text-embeddings-inference that give weights of terms and vectors of tokens."""

import asyncio
from collections.abc import Callable, Iterator

from aiohttp import web

from ivy.api import openapi, render_several, several
from ivy.api.request import EmbeddingsRequest
from ivy.api.types import INPUT_FORMS
from ivy.found import Embedded
from ivy.surfaces.parts import Parts, joined
from ivy.surfaces.route import Route, Surface
from ivy.timing import TIMING, WORK, Work


async def embed_sparse(parts: Parts, request: web.Request) -> web.Response:
    """Give the weights of terms of inputs."""
    return await _embed(
        parts, request, several.parse_sparse, lambda found: render_several.index_value_pairs(found.sparse)
    )


async def embed_all(parts: Parts, request: web.Request) -> web.Response:
    """Give the vectors of the tokens of inputs."""
    return await _embed(parts, request, several.parse_all, lambda found: render_several.token_vectors(found.token_rows))


async def _embed(
    parts: Parts,
    request: web.Request,
    parse: Callable[[bytes, int], EmbeddingsRequest],
    render: Callable[[Embedded], Iterator[bytes]],
) -> web.Response:
    async with parts.asked(request, lambda data: parse(data, parts.config.max_inputs)) as (asked, deadline):
        async with asyncio.timeout(parts.config.request_timeout_s):
            found = await parts.service.embed(asked, request[TIMING], deadline)
        request[WORK] = Work(asked.count, found.tokens)
        return await joined(render(found))


_PAIRS = {
    "type": "array",
    "items": {"type": "array", "items": {"$ref": openapi.REF.format(name="SparseValue")}},
}
_TOKEN_VECTORS = {
    "type": "array",
    "items": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
}

SURFACE = Surface(
    routes=(
        Route(
            "POST",
            "/embed_sparse",
            embed_sparse,
            openapi.work("Weights of the terms of texts.", "EmbedSparseBody", several.EXAMPLE, _PAIRS),
            is_work=True,
        ),
        Route(
            "POST",
            "/embed_all",
            embed_all,
            openapi.work("Vectors of the tokens of texts.", "EmbedAllBody", several.EXAMPLE, _TOKEN_VECTORS),
            is_work=True,
        ),
    ),
    structs=(several.EmbedSparseBody, several.SparseValue, several.EmbedAllBody),
    forms={("EmbedSparseBody", "inputs"): INPUT_FORMS, ("EmbedAllBody", "inputs"): INPUT_FORMS},
)
