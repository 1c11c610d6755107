"""What happens around every request: its id, its key, its errors, its log line, its counts. Knows no route's work."""

import asyncio
import logging
import math
import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

import grpc
from aiohttp import web
from trellis_wire.v1.metadata import REQUEST_ID, is_request_id

from ivy.api import render
from ivy.door import code_of, mapped
from ivy.errors import ApiError, BadKey, ClientGone, Internal
from ivy.keys import Keyring
from ivy.life import Life
from ivy.logs import AccessLog, where
from ivy.metrics import OTHER, Metrics
from ivy.surfaces.route import Route
from ivy.timing import TIMING, WORK, Timing, Work

if TYPE_CHECKING:
    from ivy.traces import Traces

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_log = logging.getLogger(__name__)


class Around:
    """The one middleware: every answer of the gateway passes here, and every error becomes an answer."""

    def __init__(
        self,
        routes: Iterable[Route],
        keyring: Keyring,
        life: Life,
        metrics: Metrics,
        access_log: AccessLog,
        traces: "Traces | None" = None,
    ) -> None:
        routes = list(routes)
        self._paths = frozenset(route.path for route in routes)
        self._open = frozenset(route.path for route in routes if route.is_open)
        self._work = frozenset(route.path for route in routes if route.is_work)
        self._keyring = keyring
        self._life = life
        self._metrics = metrics
        self._access_log = access_log
        self._traces = traces

    def middleware(self) -> Any:
        """As the server wants it."""

        @web.middleware
        async def around(request: web.Request, handler: _Handler) -> web.StreamResponse:
            with self._life.request():
                return await self._answer(request, handler)

        return around

    async def _answer(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        route, request_id = self._route(request), request_id_of(request.headers.get("x-request-id"))
        timing = request[TIMING] = Timing(metadata=((REQUEST_ID, request_id),))
        request[WORK] = Work()
        try:
            if route not in self._open:
                self._keyring.check(request.headers.get("authorization"))
            # Behind the key: who has none makes no traces either.
            if self._traces is not None and route in self._work:
                timing.trace = self._traces.begin(request.headers, request.method, route, timing)
            response = await handler(request)
        except asyncio.CancelledError:
            self._metrics.cancelled.inc()
            self._done(request, route, request_id, ClientGone.status, timing)
            raise
        except Exception as error:
            response = self._refusal(error, _ids(request_id, timing))
        response.headers["x-request-id"] = request_id
        response.headers["server"] = "trellis"
        if route in self._work:
            response.headers["server-timing"] = timing.header()
        if self._life.draining:
            response.force_close()
        self._done(request, route, request_id, response.status, timing)
        return response

    def _route(self, request: web.Request) -> str:
        """The route's pattern, as the metrics name it."""
        resource = request.match_info.route.resource
        route = resource.canonical if resource is not None else OTHER
        return route if route in self._paths else OTHER

    def _refusal(self, error: Exception, ids: dict[str, str]) -> web.Response:
        refused = mapped(error)
        if isinstance(refused, Internal):
            _log_fault(error, ids)
        headers = headers_of(refused)
        if isinstance(error, web.HTTPMethodNotAllowed):
            headers["allow"] = ", ".join(sorted(error.allowed_methods))
        return web.Response(
            status=refused.status, body=render.error(refused), content_type="application/json", headers=headers
        )

    def _done(self, request: web.Request, route: str, request_id: str, status: int, timing: Timing) -> None:
        self._metrics.requests[route, status].inc()
        if route in self._work and status == 200:
            self._metrics.answered(request[WORK].tokens, timing)
        self._write(request, route, request_id, status, timing)
        if timing.trace is not None:
            timing.trace.end(status, request[WORK].inputs, request[WORK].tokens)

    def _write(self, request: web.Request, route: str, request_id: str, status: int, timing: Timing) -> None:
        fields = {
            **_ids(request_id, timing),
            "method": request.method,
            "route": route,
            "status": status,
            "ms": round(timing.total_s() * 1000, 3),
            "inputs": request[WORK].inputs,
            "tokens": request[WORK].tokens,
        }
        # Probes ask several times a second, which would drown what people look for.
        self._access_log.write("debug" if route in self._open else "info", fields)


def request_id_of(given: str | None) -> str:
    """The caller's id where it is fit for a header and a log, else a new one."""
    return given if given is not None and is_request_id(given) else secrets.token_hex(16)


def _ids(request_id: str, timing: Timing) -> dict[str, str]:
    """What a log line calls a request by."""
    if timing.trace is None:
        return {"id": request_id}
    return {"id": request_id, "trace_id": timing.trace.trace_id}


def headers_of(refused: ApiError) -> dict[str, str]:
    """The headers that belong to an error."""
    headers: dict[str, str] = {}
    if isinstance(refused, BadKey):
        headers["www-authenticate"] = "Bearer"
    if refused.retry_after_s is not None:
        headers["retry-after"] = str(math.ceil(refused.retry_after_s))
        headers["retry-after-ms"] = str(math.ceil(refused.retry_after_s * 1000))
    return headers


def _log_fault(error: Exception, ids: dict[str, str]) -> None:
    """Say what failed, in words that cannot quote what the caller sent."""
    fields: dict[str, Any] = {**ids, "error": type(error).__name__}
    if isinstance(error, grpc.aio.AioRpcError):
        fields |= {"code": code_of(error).name, "details": error.details()}
    else:
        fields["trace"] = where(error.__traceback__)
    _log.error("a request failed", extra={"fields": fields})
