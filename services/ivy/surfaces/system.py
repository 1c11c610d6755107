"""The routes of those who run a gateway: health, metrics, and its own description."""

from aiohttp import web

from ivy.api import openapi, types
from ivy.api.docs_page import page
from ivy.door import RETRY_UNKNOWN_S
from ivy.errors import NoEngine
from ivy.surfaces.parts import Parts, json_of
from ivy.surfaces.route import Route, Surface


async def healthz(_: Parts, __: web.Request) -> web.Response:
    """Say that the process lives."""
    return json_of({"status": "ok"})


async def readyz(parts: Parts, _: web.Request) -> web.Response:
    """Say whether requests can be answered, if only by letting them wait for an engine that starts for them."""
    if parts.life.draining:
        raise NoEngine("this gateway is draining", retry_after_s=RETRY_UNKNOWN_S)
    if not parts.engines.cards() and not parts.hold.takes():
        raise NoEngine("no engine is ready", retry_after_s=RETRY_UNKNOWN_S)
    return json_of({"status": "ready"})


async def metrics(parts: Parts, request: web.Request) -> web.Response:
    """Show the metrics."""
    body, content_type = parts.metrics.answer(request.headers.get("accept", ""))
    return web.Response(body=body, headers={"content-type": content_type})


async def docs(parts: Parts, request: web.Request) -> web.Response:
    """Show the routes as a page, which needs nothing from anywhere else."""
    policy = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
    text = page(parts.document, f"{request.scheme}://{request.host}")
    return web.Response(text=text, content_type="text/html", headers=policy)


async def described(parts: Parts, _: web.Request) -> web.Response:
    """Give the OpenAPI document."""
    return json_of(parts.document)


_STATE = openapi.json_ref("State")
_OBJECT = {"application/json": {"schema": {"type": "object"}}}

SURFACE = Surface(
    routes=(
        Route("GET", "/healthz", healthz, openapi.open_get("Say that the process lives.", _STATE), is_open=True),
        Route(
            "GET",
            "/readyz",
            readyz,
            openapi.open_get("Say whether requests can be answered.", _STATE, (503,)),
            is_open=True,
        ),
        Route(
            "GET",
            "/metrics",
            metrics,
            openapi.open_get("Metrics, in Prometheus text.", openapi.text("text/plain")),
            is_open=True,
        ),
        Route("GET", "/docs", docs, openapi.get("These routes, as a page.", openapi.text("text/html"))),
        Route("GET", "/openapi.json", described, openapi.get("This document.", _OBJECT)),
    ),
    structs=(types.ErrorAnswer, types.State),
)
