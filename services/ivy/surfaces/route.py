"""`Route` and `Surface`: what lies at a path, and how it is described. Knows no route's work."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from msgspec import Struct

from ivy.surfaces.parts import Parts

Handler = Callable[[Parts, web.Request], Awaitable[web.Response]]


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path."""

    method: str
    path: str
    """As the router and the metrics write it, e.g. `/v1/models/{id}`."""
    handler: Handler
    operation: Mapping[str, Any]
    """Its piece of the OpenAPI document; `ivy.api.openapi` has what makes one."""
    is_work: bool = False
    """Whether engines work for it: then its answer tells how long each stage took."""
    is_open: bool = False
    """Whether it needs no API key."""


@dataclass(frozen=True, slots=True)
class Surface:
    """Routes that belong together, and the structs that their bodies and answers are."""

    routes: tuple[Route, ...]
    structs: tuple[type[Struct], ...]
    forms: Mapping[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    """For `(struct, field)` the forms that a value may have, where the type annotation cannot say it."""
