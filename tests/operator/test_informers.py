"""All informers before an API server that lets some kinds be listed and others not: what is optional delays nothing."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from kubernetes.aio.config import kube_config
from trellis_operator.cluster.api import Api
from trellis_operator.cluster.connect import connect
from trellis_operator.cluster.fence import Fence
from trellis_operator.cluster.informers import Informers
from trellis_operator.cluster.metrics import Metrics
from trellis_operator.cluster.pace import Pace
from trellis_operator.kinds import POD_MONITOR, Kind

Body = dict[str, Any]
SERVED = frozenset({"PodMonitor"})


@dataclass
class Server:
    """Has one PodMonitor and nothing else, and refuses lists whose paths end in one of `forbidden`."""

    forbidden: set[str] = field(default_factory=set)
    asked: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        plural = request.path.rpartition("/")[2]
        await self.asked.put(plural)
        if any(request.path.endswith(f"/{each}") for each in self.forbidden):
            return web.json_response({"reason": "Forbidden", "message": f"cannot list {plural}"}, status=403)
        if "watch" in request.query:
            await asyncio.Event().wait()
        monitor = {"metadata": {"name": "m-engine", "namespace": "search", "resourceVersion": "1"}}
        items = [monitor] if plural == POD_MONITOR.plural else []
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": items})


@dataclass
class Seen:
    """What informers know, by kind."""

    names: dict[str, list[str]] = field(default_factory=dict)
    visits: asyncio.Event = field(default_factory=asyncio.Event)

    def replace(self, kind: Kind, namespace: str | None, items: list[Body]) -> None:
        self.names[kind.name] = [each["metadata"]["name"] for each in items]

    def put(self, kind: Kind, item: Body) -> None:
        raise AssertionError("no watch of this server tells anything")

    def drop(self, kind: Kind, item: Body) -> None:
        raise AssertionError("no watch of this server tells anything")

    def visit_all(self) -> None:
        self.visits.set()


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
async def api(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Api]:
    """Of an operator that found its cluster in a kubeconfig."""
    application = web.Application()
    application.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{runner.addresses[0][1]}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    users = [{"name": "u", "user": {}}]
    kubeconfig = {"clusters": [cluster], "contexts": [context], "users": users, "current-context": "c"}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "kubeconfig"))  # read at its import
    client = await connect()
    yield Api(client, Fence.always_open(), Metrics())
    await client.close()
    await runner.cleanup()


@pytest.fixture
async def informers(api: Api, seen: Seen, request: pytest.FixtureRequest) -> AsyncIterator[Informers]:
    """Of all namespaces, or of those that a test names."""
    informers = Informers(api, getattr(request, "param", []), seen, Metrics(), Pace())
    running = asyncio.create_task(informers.run())
    yield informers
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def begin(informers: Informers) -> None:
    informers.follow(SERVED)
    async with asyncio.timeout(10):
        await informers.wait_begun()


async def test_an_optional_kind_that_may_not_be_listed_holds_nothing_up_and_is_not_asked_for(
    server: Server, informers: Informers
) -> None:
    server.forbidden = {POD_MONITOR.plural}
    await begin(informers)
    assert informers.begun
    assert informers.refused_in("search") == {"PodMonitor"}
    assert informers.away == []


async def test_without_a_kind_that_every_model_needs_nothing_begins_and_it_is_named(
    server: Server, informers: Informers
) -> None:
    server.forbidden = {"deployments"}
    informers.follow(SERVED)
    async with asyncio.timeout(10):
        while informers.away != ["deployments"]:
            await server.asked.get()
    assert not informers.begun
    assert informers.refused_in("search") == frozenset()


async def test_what_is_known_of_a_kind_goes_when_it_is_served_no_more(informers: Informers, seen: Seen) -> None:
    await begin(informers)
    assert seen.names["PodMonitor"] == ["m-engine"]
    informers.follow(frozenset())
    assert seen.names["PodMonitor"] == []


@pytest.mark.parametrize("informers", [["search", "shop"]], indirect=True)
async def test_an_optional_kind_that_is_refused_in_one_namespace_is_there_in_others(
    server: Server, informers: Informers
) -> None:
    server.forbidden = {f"namespaces/shop/{POD_MONITOR.plural}"}
    await begin(informers)
    assert informers.refused_in("shop") == {"PodMonitor"}
    assert informers.refused_in("search") == frozenset()


async def test_a_kind_that_is_refused_once_at_the_start_is_not_taken_for_absent(
    server: Server, informers: Informers, seen: Seen
) -> None:
    server.forbidden = {POD_MONITOR.plural}
    informers.follow(SERVED)
    async with asyncio.timeout(10):
        while await server.asked.get() != POD_MONITOR.plural:
            pass
        server.forbidden = set()
        await informers.wait_begun()
    assert informers.refused_in("search") == frozenset()
    assert seen.names["PodMonitor"] == ["m-engine"]
    assert not seen.visits.is_set()


async def test_a_kind_that_was_refused_is_soon_asked_for_again_and_all_models_are_visited(
    server: Server, informers: Informers, seen: Seen
) -> None:
    server.forbidden = {POD_MONITOR.plural}
    await begin(informers)
    server.forbidden = set()
    async with asyncio.timeout(10):
        await seen.visits.wait()
    assert informers.refused_in("search") == frozenset()
    assert seen.names["PodMonitor"] == ["m-engine"]


@pytest.mark.parametrize("informers", [[f"n{number}" for number in range(10)]], indirect=True)
async def test_watches_of_many_namespaces_leave_connections_for_calls(api: Api, informers: Informers) -> None:
    await begin(informers)
    async with asyncio.timeout(10):
        assert await api.get("/api/v1/namespaces/n0/secrets/keys")
