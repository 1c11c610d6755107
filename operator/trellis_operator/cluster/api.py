"""Calls to the API server through the official client: each with a deadline, asked again where that can help.

Bodies are plain dictionaries. Writes go through the fence. Never knows what an object means.
"""

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
from kubernetes.aio.client import ApiClient

from trellis_operator.cluster.errors import AwayError, RefusedError, error_of
from trellis_operator.cluster.fence import Fence
from trellis_operator.cluster.metrics import Metrics

Object = dict[str, Any]

FIELD_MANAGER = "trellis-operator"
_CALL_S = 15.0
_CONNECT_S = 5.0
_ATTEMPTS = 4
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.2, 3.0
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_JSON = "application/json"


class Api:
    """One API server."""

    def __init__(self, client: ApiClient, fence: Fence, metrics: Metrics) -> None:
        self._client, self._fence, self._metrics = client, fence, metrics

    async def get(self, path: str) -> Object | None:
        """One object; None where there is none.

        Raises:
            RefusedError, AwayError: see `errors`.
        """
        try:
            return await self._call("GET", path)
        except RefusedError as refused:
            if refused.code == 404:
                return None
            raise

    async def list(self, path: str, **query: str) -> Object:
        """A list object: its items and the version they are of."""
        return await self._call("GET", path, query)

    async def apply(self, path: str, body: Object) -> Object:
        """Server-side apply with our field manager, by force; returns the object as it is now."""
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return await self._call("PATCH", path, query, body, _APPLY)

    async def merge(self, path: str, changes: Object) -> Object:
        """Merge `changes` into an object; what its schema does not know is dropped, and None takes a field away."""
        return await self._call("PATCH", path, {"fieldManager": FIELD_MANAGER}, changes, _MERGE)

    async def create(self, path: str, body: Object) -> Object:
        """Create an object that nobody changes later."""
        return await self._call("POST", path, {"fieldManager": FIELD_MANAGER}, body)

    async def replace(self, path: str, body: Object) -> Object:
        """Replace an object, if it is still of the version that `body` carries."""
        return await self._call("PUT", path, {"fieldManager": FIELD_MANAGER}, body)

    async def delete(self, path: str, uid: str) -> None:
        """Delete an object of this uid; one that is gone already is fine."""
        options = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
        try:
            await self._call("DELETE", path, {}, options)
        except RefusedError as refused:
            if not refused.is_of(404, 409):  # 409: another one of that name is there now
                raise

    async def watch(self, path: str, silence_s: float, **query: str) -> AsyncIterator[Object]:
        """The events of a watch, until it ends or nothing came for `silence_s` seconds."""
        timeout = aiohttp.ClientTimeout(sock_connect=_CONNECT_S)
        try:
            async with asyncio.timeout(_CALL_S):
                response = await self._send("GET", path, {"watch": "true", **query}, None, _JSON, timeout)
        except (aiohttp.ClientError, OSError) as error:
            raise AwayError(f"the watch of {path} does not begin: {type(error).__name__} {error}".rstrip()) from error
        try:
            while True:
                async with asyncio.timeout(silence_s):
                    line = await response.content.readline()
                if not line:
                    return
                yield json.loads(line)
        except TimeoutError:
            return
        except (aiohttp.ClientError, ValueError) as error:
            raise AwayError(f"the watch of {path} broke: {error}") from error
        finally:
            response.close()

    async def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content: str = _JSON,
    ) -> Object:
        pause_s = _FIRST_PAUSE_S
        each_time = method != "GET"  # of a write alone can a person be told: what cannot be read is merely not known
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await self._once(method, path, query or {}, body, content)
            except AwayError as away:
                each_time = each_time and away.refused is not None
                if attempt == _ATTEMPTS and each_time and away.refused is not None:
                    raise away.refused from away
                if attempt == _ATTEMPTS or away.retry_after_s > _LAST_PAUSE_S:
                    raise
                await asyncio.sleep(max(away.retry_after_s, pause_s * random.uniform(0.5, 1.0)))  # noqa: S311
                pause_s = min(2 * pause_s, _LAST_PAUSE_S)
        raise AssertionError("an attempt answers or raises")

    async def _once(self, method: str, path: str, query: Mapping[str, str], body: Any, content: str) -> Object:
        left_s = _CALL_S if method == "GET" else min(_CALL_S, self._fence.left_s())
        timeout = aiohttp.ClientTimeout(total=max(left_s, 0.001), sock_connect=_CONNECT_S)
        started = time.perf_counter()
        outcome = "away"
        try:
            response = await self._send(method, path, query, body, content, timeout)
            answer: Object = json.loads(await response.read())
            outcome = str(response.status)
            return answer
        except RefusedError as refused:
            outcome = str(refused.code)
            raise
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise AwayError(f"{method} {path}: {type(error).__name__} {error}".rstrip()) from error
        finally:
            self._metrics.call(method, resource_of(path), outcome, time.perf_counter() - started)

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Any,
        content: str,
        limits: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": _JSON, "Content-Type": content}
        _, url, headers, _, _ = await self._client.param_serialize(
            method, path, query_params=list(query.items()), header_params=headers, auth_settings=["BearerToken"]
        )
        if method != "GET":
            self._fence.check()
        answer = await self._client.call_api(method, url, headers, body, _request_timeout=limits)
        response: aiohttp.ClientResponse = answer.response
        if response.status >= 300:
            try:
                status = json.loads(await response.read())
            except ValueError:
                status = None
            raise error_of(response.status, status, response.headers.get("Retry-After"))
        return response


def resource_of(path: str) -> str:
    """The plural and the subresource that a path speaks of; empty for what is no resource."""
    pieces = path.strip("/").split("/")
    inner = pieces[2:] if pieces[0] == "api" else pieces[3:]
    if inner[:1] == ["namespaces"] and len(inner) > 2:
        inner = inner[2:]
    return "/".join([*inner[:1], *inner[2:3]])
