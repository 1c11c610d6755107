"""What each route does. Thin: reading, the service, rendering."""

import asyncio
import time
from functools import partial
from typing import Any

import orjson
from aiohttp import web

from ivy.admission import Admission
from ivy.api import render
from ivy.api.docs_page import page
from ivy.api.parse import parse
from ivy.body import read_body
from ivy.client.engines import Engines
from ivy.config import Config
from ivy.door import RETRY_UNKNOWN_S
from ivy.errors import NoEngine, UnknownModel
from ivy.life import Life
from ivy.metrics import Metrics
from ivy.middleware import TIMING, WORK, Work
from ivy.service import EmbeddingService

_JSON = "application/json"
_CREATED = int(time.time())


class Handlers:
    """The routes of one gateway."""

    def __init__(
        self,
        config: Config,
        service: EmbeddingService,
        engines: Engines,
        admission: Admission,
        life: Life,
        metrics: Metrics,
        document: dict[str, Any],
    ) -> None:
        self._config = config
        self._service = service
        self._engines = engines
        self._admission = admission
        self._life = life
        self._metrics = metrics
        self._document = orjson.dumps(document)
        self._page = partial(page, document)

    def routes(self) -> list[web.RouteDef]:
        """Every route."""
        return [
            web.post("/v1/embeddings", self.embeddings),
            web.get("/v1/models", self.models),
            web.get("/v1/models/{id}", self.model),
            web.get("/healthz", self.healthz),
            web.get("/readyz", self.readyz),
            web.get("/metrics", self.metrics),
            web.get("/docs", self.docs),
            web.get("/openapi.json", self.openapi),
        ]

    async def embeddings(self, request: web.Request) -> web.Response:
        """Embed the inputs of a request."""
        timing, timeout_s = request[TIMING], self._config.request_timeout_s
        deadline = time.monotonic() + timeout_s
        with self._admission.body() as take:
            data = await read_body(request, self._config.max_body_bytes, take)
            began = time.perf_counter()
            asked = parse(data, self._config.max_inputs)
            timing.parse_s = time.perf_counter() - began
            async with asyncio.timeout(timeout_s):
                found = await self._service.embed(asked, timing, deadline)
            request[WORK] = Work(asked.count, found.tokens)
            pieces: list[bytes] = []
            for piece in render.embeddings(found.rows, asked.encoding, asked.model, found.tokens):
                if pieces:
                    await asyncio.sleep(0)
                pieces.append(piece)
        return web.Response(body=b"".join(pieces), content_type=_JSON)

    async def models(self, _: web.Request) -> web.Response:
        """List the served names."""
        return _json({"object": "list", "data": [_model(name) for name in self._config.served_names]})

    async def model(self, request: web.Request) -> web.Response:
        """Describe one served name."""
        name = request.match_info["id"]
        if name not in self._config.served_names:
            raise UnknownModel("no model of this name is served here", param="model")
        return _json(_model(name))

    async def healthz(self, _: web.Request) -> web.Response:
        """Say that the process lives."""
        return _json({"status": "ok"})

    async def readyz(self, _: web.Request) -> web.Response:
        """Say whether requests can be answered."""
        if self._life.draining:
            raise NoEngine("this gateway is draining", retry_after_s=RETRY_UNKNOWN_S)
        if not self._engines.cards():
            raise NoEngine("no engine is ready", retry_after_s=RETRY_UNKNOWN_S)
        return _json({"status": "ready"})

    async def metrics(self, _: web.Request) -> web.Response:
        """Show the metrics."""
        return web.Response(
            body=self._metrics.exposition(), headers={"content-type": "text/plain; version=0.0.4; charset=utf-8"}
        )

    async def docs(self, request: web.Request) -> web.Response:
        """Show the routes as a page, which needs nothing from anywhere else."""
        policy = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
        text = self._page(f"{request.scheme}://{request.host}")
        return web.Response(text=text, content_type="text/html", headers=policy)

    async def openapi(self, _: web.Request) -> web.Response:
        """Give the OpenAPI document."""
        return web.Response(body=self._document, content_type=_JSON)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "trellis"}


def _json(value: Any) -> web.Response:
    return web.Response(body=orjson.dumps(value), content_type=_JSON)
