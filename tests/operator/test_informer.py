"""An informer before an API server whose watches expire, break, stall and miss what happens. The fake is the server."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio.client import ApiClient, Configuration
from trellis_operator.cluster import api
from trellis_operator.cluster.api import Api
from trellis_operator.cluster.fence import Fence
from trellis_operator.cluster.informer import Informer
from trellis_operator.cluster.metrics import Metrics
from trellis_operator.cluster.pace import Pace
from trellis_operator.kinds import CONFIG_MAP, Kind

Body = dict[str, Any]


def item(name: str, version: int = 1) -> Body:
    return {"metadata": {"name": name, "namespace": "search", "resourceVersion": str(version)}}


@dataclass
class Server:
    """What an API server says about ConfigMaps: lists from `items`, and each watch from the lines that a test sends."""

    items: dict[str, Body] = field(default_factory=dict)
    version: int = 1
    lists: int = 0
    away: bool = False
    forbidden: bool = False
    refuses: int = 0
    """So many watches whose connections it closes without a word."""
    mute: int = 0
    """So many watches to which it never says a word, though it took them."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    watches: asyncio.Queue["asyncio.Queue[bytes | None]"] = field(default_factory=asyncio.Queue)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.set()
        if self.away:
            return web.json_response({"reason": "ServiceUnavailable"}, status=503)
        if self.forbidden:
            return web.json_response({"reason": "Forbidden", "message": "no"}, status=403)
        if "watch" not in request.query:
            self.lists += 1
            return web.json_response(
                {"metadata": {"resourceVersion": str(self.version)}, "items": list(self.items.values())}
            )
        if self.refuses:
            self.refuses -= 1
            assert request.transport is not None
            request.transport.abort()
        if self.mute:
            self.mute -= 1
            await asyncio.Event().wait()
        lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        response = web.StreamResponse()
        await response.prepare(request)
        await self.watches.put(lines)
        while (line := await lines.get()) is not None:
            await response.write(line)
        return response

    async def watch(self) -> "asyncio.Queue[bytes | None]":
        """The next watch that begins."""
        async with asyncio.timeout(10):
            return await self.watches.get()


@dataclass
class Seen:
    """What an informer knows."""

    names: set[str] = field(default_factory=set)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def replace(self, kind: Kind, namespace: str | None, items: list[Body]) -> None:
        self.names = {each["metadata"]["name"] for each in items}
        self.changed.set()

    def put(self, kind: Kind, item: Body) -> None:
        self.names.add(item["metadata"]["name"])
        self.changed.set()

    def drop(self, kind: Kind, item: Body) -> None:
        self.names.discard(item["metadata"]["name"])
        self.changed.set()

    def visit_all(self) -> None:
        raise AssertionError("no kind that every model needs is ever refused as one that is optional")

    async def until(self, names: set[str]) -> None:
        async with asyncio.timeout(10):
            while self.names != names:
                self.changed.clear()
                await self.changed.wait()


def event(change: str, body: Body) -> bytes:
    return json.dumps({"type": change, "object": body}).encode() + b"\n"


@pytest.fixture
async def server() -> Server:
    return Server()


@pytest.fixture
def seen() -> Seen:
    """What the informer knows."""
    return Seen()


@pytest.fixture(autouse=True)
async def informer(server: Server, seen: Seen, request: pytest.FixtureRequest) -> AsyncIterator[Informer]:
    """An informer that runs."""
    application = web.Application()
    application.router.add_get("/api/v1/configmaps", server.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    client = ApiClient(Configuration(host=f"http://127.0.0.1:{port}"))
    metrics = Metrics()
    pace = getattr(request, "param", Pace(first_pause_s=0.01, last_pause_s=0.05))
    informer = Informer(Api(client, Fence.always_open(), metrics), CONFIG_MAP, None, seen, metrics, pace)
    running = asyncio.create_task(informer.run())
    yield informer
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await client.close()
    await runner.cleanup()


async def test_a_list_and_then_its_changes_are_seen(server: Server, seen: Seen) -> None:
    server.items["a"] = item("a")
    watch = await server.watch()
    await watch.put(event("ADDED", item("b", 2)))
    await watch.put(event("BOOKMARK", {"metadata": {"resourceVersion": "3"}}))
    await watch.put(event("DELETED", item("a", 4)))
    await seen.until({"b"})


@pytest.mark.parametrize("code", [410, 500])
async def test_after_an_error_event_a_new_list_finds_what_was_missed(server: Server, seen: Seen, code: int) -> None:
    server.items["gone"] = item("gone")
    watch = await server.watch()
    await seen.until({"gone"})
    server.items = {"new": item("new")}
    await watch.put(event("ERROR", {"code": code, "reason": "Expired"}))
    await seen.until({"new"})


@pytest.mark.parametrize("informer", [Pace(first_pause_s=0.1, last_pause_s=0.2)], indirect=True)
@pytest.mark.parametrize("code", [410, 500])
async def test_watches_that_tell_of_errors_alone_are_begun_again_ever_less_often(
    server: Server, seen: Seen, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    error = event("ERROR", {"code": code, "reason": "Expired", "message": "too old"})
    for _ in range(4):
        await (await server.watch()).put(error)
    watch = await server.watch()
    await watch.put(event("ADDED", item("a", 2)))
    await seen.until({"a"})
    await watch.put(error)
    await server.watch()
    assert re.findall("too old; next try in (.*) s", caplog.text) == ["0.1", "0.2", "0.2"]


@pytest.mark.parametrize("line", [b"not json\n", b'{"type": "ADDED", "obj'])
async def test_a_watch_that_breaks_in_the_middle_is_begun_anew(server: Server, seen: Seen, line: bytes) -> None:
    watch = await server.watch()
    server.items = {"new": item("new")}
    await watch.put(line)
    await watch.put(None)
    await seen.until({"new"})


async def test_a_watch_that_ends_goes_on_where_it_was_without_a_list(server: Server, seen: Seen) -> None:
    watch = await server.watch()
    await watch.put(event("ADDED", item("a", 2)))
    await watch.put(None)
    watch = await server.watch()
    await watch.put(event("ADDED", item("b", 3)))
    await seen.until({"a", "b"})
    assert server.lists == 1


@pytest.mark.parametrize("informer", [Pace(silence_s=0.1, first_pause_s=0.01)], indirect=True)
async def test_a_watch_that_says_nothing_is_left_for_another(server: Server, seen: Seen) -> None:
    await server.watch()
    watch = await server.watch()
    await watch.put(event("ADDED", item("a", 2)))
    await seen.until({"a"})


async def test_a_watch_that_never_begins_is_left_for_another(
    server: Server, seen: Seen, informer: Informer, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = await server.watch()
    monkeypatch.setattr(api, "_CALL_S", 0.2)
    server.mute = 1
    await watch.put(None)
    watch = await server.watch()
    assert server.mute == 0
    await watch.put(event("ADDED", item("a", 2)))
    await seen.until({"a"})


@pytest.mark.parametrize("informer", [Pace(relist_s=0.2, silence_s=0.1, first_pause_s=0.01)], indirect=True)
async def test_a_deletion_that_no_watch_ever_told_is_found(server: Server, seen: Seen) -> None:
    server.items["ghost"] = item("ghost")
    await seen.until({"ghost"})
    server.items.clear()
    await seen.until(set())


async def test_what_a_server_does_not_tell_of_is_known_to_be_unseen_until_it_does_again(
    server: Server, seen: Seen, informer: Informer
) -> None:
    watch = await server.watch()
    assert not informer.away
    server.away = True
    await watch.put(None)
    async with asyncio.timeout(10):
        while not informer.away:
            server.asked.clear()
            await server.asked.wait()
    server.away = False
    await server.watch()
    assert not informer.away


async def test_a_list_that_is_refused_is_no_sight_of_what_is_there_and_what_is_known_stays(
    server: Server, seen: Seen, informer: Informer
) -> None:
    server.items["a"] = item("a")
    watch = await server.watch()
    await seen.until({"a"})
    server.forbidden = True
    await watch.put(event("ERROR", {"code": 410}))
    async with asyncio.timeout(10):
        while not informer.away:
            server.asked.clear()
            await server.asked.wait()
    assert seen.names == {"a"}
    server.forbidden = False
    await server.watch()
    assert not informer.away


async def test_a_watch_that_cannot_begin_ends_no_informer(server: Server, seen: Seen) -> None:
    watch = await server.watch()
    server.refuses = 3  # a client asks twice over a connection that it had
    server.items = {"new": item("new")}
    await watch.put(None)
    await seen.until({"new"})


async def test_a_server_that_is_away_is_waited_for_and_what_is_known_stays(server: Server, seen: Seen) -> None:
    server.items["a"] = item("a")
    watch = await server.watch()
    await seen.until({"a"})
    server.away = True
    await watch.put(event("ERROR", {"code": 410}))
    for _ in range(20):
        await asyncio.sleep(0.01)
        assert seen.names == {"a"}
    server.items["b"] = item("b")
    server.away = False
    await seen.until({"a", "b"})
