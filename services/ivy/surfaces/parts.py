"""`Parts`: what the routes of a gateway share. Reading a body and writing JSON; knows no route's work."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
from aiohttp import web

from ivy.admission import Admission
from ivy.body import read_body
from ivy.client.engines import Engines
from ivy.config import Config
from ivy.hold import Hold
from ivy.life import Life
from ivy.metrics import Metrics
from ivy.scoring.service import ScoringService
from ivy.service import EmbeddingService
from ivy.timing import TIMING
from ivy.tokens import Tokens

JSON = "application/json"

_Asked = TypeVar("_Asked")


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one gateway that its routes use."""

    config: Config
    service: EmbeddingService
    tokens: Tokens
    scoring: ScoringService
    engines: Engines
    hold: Hold
    admission: Admission
    life: Life
    metrics: Metrics
    document: dict[str, Any]
    """The OpenAPI description of every route."""

    @asynccontextmanager
    async def asked(
        self, request: web.Request, parse: Callable[[bytes], _Asked]
    ) -> AsyncIterator[tuple[_Asked, float]]:
        """Read and parse a body, which is counted until the end of the block; a part of the block waits on engines.

        Args:
            request: whose body.
            parse: makes of its bytes what was asked.

        Yields:
            What was asked, and the deadline of the answer on the clock of `time.monotonic`.

        Raises:
            ApiError: the body is wrong, too large or too slow, or there is no room for it.
        """
        deadline = time.monotonic() + self.config.request_timeout_s
        with self.admission.body() as take:
            data = await read_body(request, self.config.max_body_bytes, take)
            began = time.perf_counter()
            asked = parse(data)
            timing = request[TIMING]
            timing.took("parse", began)
            yield asked, deadline
            if timing.found_at is not None:
                timing.took("render", timing.found_at)


async def joined(pieces: Iterable[bytes]) -> web.Response:
    """An answer of JSON that is rendered piece by piece; between two of them the loop may serve others."""
    made: list[bytes] = []
    for piece in pieces:
        if made:
            await asyncio.sleep(0)
        made.append(piece)
    return web.Response(body=b"".join(made), content_type=JSON)


def json_of(value: Any) -> web.Response:
    """An answer of JSON."""
    return web.Response(body=orjson.dumps(value), content_type=JSON)
