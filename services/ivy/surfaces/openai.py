"""The routes of OpenAI's clients: embeddings and models."""

import asyncio
import time
from typing import Any

from aiohttp import web

from ivy.api import openapi, render, types
from ivy.api.parse import parse
from ivy.errors import UnknownModel
from ivy.surfaces.parts import Parts, joined, json_of
from ivy.surfaces.route import Route, Surface
from ivy.timing import TIMING, WORK, Work

_CREATED = int(time.time())


async def embeddings(parts: Parts, request: web.Request) -> web.Response:
    """Embed the inputs of a request."""
    async with parts.asked(request, lambda data: parse(data, parts.config.max_inputs)) as ((asked, writing), deadline):
        async with asyncio.timeout(parts.config.request_timeout_s):
            found = await parts.service.embed(asked, request[TIMING], deadline)
        request[WORK] = Work(asked.count, found.tokens)
        return await joined(render.embeddings(found.vectors[writing.kind], writing, asked.model or "", found.tokens))


async def models(parts: Parts, _: web.Request) -> web.Response:
    """List the served names."""
    return json_of({"object": "list", "data": [_model(name) for name in parts.config.served_names]})


async def model(parts: Parts, request: web.Request) -> web.Response:
    """Describe one served name."""
    name = request.match_info["id"]
    if name not in parts.config.served_names:
        raise UnknownModel("no model of this name is served here", param="model")
    return json_of(_model(name))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "trellis"}


_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}

SURFACE = Surface(
    routes=(
        Route(
            "POST",
            "/v1/embeddings",
            embeddings,
            openapi.work("Embed texts.", "EmbeddingsBody", types.EXAMPLE, "EmbeddingsAnswer"),
            is_work=True,
        ),
        Route("GET", "/v1/models", models, openapi.get("List the served names.", openapi.json_ref("ModelList"))),
        Route(
            "GET",
            "/v1/models/{id}",
            model,
            {**openapi.get("Describe one served name.", openapi.json_ref("Model")), "parameters": [_ID]},
        ),
    ),
    structs=(types.EmbeddingsBody, types.EmbeddingsAnswer, types.ModelList, types.Model),
    forms={("EmbeddingsBody", "input"): types.INPUT_FORMS},
)
