"""The route that embeds chunks in the light of their documents."""

import asyncio

from aiohttp import web

from ivy.api import contextual, openapi
from ivy.surfaces.parts import Parts, joined
from ivy.surfaces.route import Route, Surface
from ivy.timing import TIMING, WORK, Work


async def embeddings(parts: Parts, request: web.Request) -> web.Response:
    """Embed the chunks of documents."""
    async with parts.asked(request, lambda data: contextual.parse_documents(data, parts.config.max_inputs)) as (
        (asked, writing),
        deadline,
    ):
        async with asyncio.timeout(parts.config.request_timeout_s):
            found = await parts.service.documents(asked, request[TIMING], deadline)
        counts = [len(document) for document in asked.documents]
        request[WORK] = Work(sum(counts), found.tokens)
        rows = found.vectors[writing.kind]
        return await joined(contextual.render_documents(rows, counts, writing, asked.model, found.tokens))


SURFACE = Surface(
    routes=(
        Route(
            "POST",
            "/v1/contextualizedembeddings",
            embeddings,
            openapi.work(
                "Embed the chunks of documents, each in the light of its document.",
                "DocumentsBody",
                contextual.EXAMPLE,
                "DocumentsAnswer",
            ),
            is_work=True,
        ),
    ),
    structs=(contextual.DocumentsBody, contextual.DocumentsAnswer),
)
