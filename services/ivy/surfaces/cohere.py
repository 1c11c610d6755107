"""The routes of Cohere's clients that give vectors."""

import asyncio
from uuid import uuid4

from aiohttp import web

from ivy.api import cohere, openapi
from ivy.surfaces.parts import Parts, joined
from ivy.surfaces.route import Route, Surface
from ivy.timing import TIMING, WORK, Work


async def embed(parts: Parts, request: web.Request) -> web.Response:
    """Embed texts in several types of vectors at once."""
    config = parts.config
    async with parts.asked(
        request, lambda data: cohere.parse_embed(data, config.max_inputs, config.embedding.truncation)
    ) as ((asked, types), deadline):
        async with asyncio.timeout(config.request_timeout_s):
            found = await parts.service.embed(asked, request[TIMING], deadline)
        request[WORK] = Work(asked.count, found.tokens)
        return await joined(cohere.render_embed(found, types, asked.texts, str(uuid4())))


SURFACE = Surface(
    routes=(
        Route(
            "POST",
            "/v2/embed",
            embed,
            openapi.work("Embed texts, as Cohere's clients ask.", "EmbedBody", cohere.EMBED_EXAMPLE, "EmbedAnswer"),
            is_work=True,
        ),
    ),
    structs=(cohere.EmbedBody, cohere.EmbedAnswer),
)
