"""Every surface, and from them all routes at once."""

from functools import partial

from aiohttp import web

from ivy.surfaces import cohere, contextual, openai, scoring, several, system, tei
from ivy.surfaces.expect import go_on
from ivy.surfaces.parts import Parts
from ivy.surfaces.route import Route, Surface

SURFACES: tuple[Surface, ...] = (
    openai.SURFACE,
    contextual.SURFACE,
    cohere.SURFACE,
    tei.SURFACE,
    several.SURFACE,
    scoring.SURFACE,
    system.SURFACE,
)

ROUTES: tuple[Route, ...] = tuple(route for surface in SURFACES for route in surface.routes)

PATHS: tuple[str, ...] = tuple(dict.fromkeys(route.path for route in ROUTES))


def handlers(parts: Parts) -> list[web.RouteDef]:
    """All routes, as the server wants them."""
    return [
        web.route(route.method, route.path, partial(route.handler, parts), expect_handler=go_on) for route in ROUTES
    ]
