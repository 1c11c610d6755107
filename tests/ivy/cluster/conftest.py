"""At the outermost wire: a server that answers as an API server does about EndpointSlices, and fails in every way."""

import asyncio
import json
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from ivy.cluster.api import SliceApi
from ivy.cluster.follower import Follower, Pace
from ivy.config import ApiServer, ServiceName
from ivy.metrics import Metrics

SERVICE = ServiceName("models", "minilm-engines")
PEERS = ServiceName("models", "minilm")
_LABEL = "kubernetes.io/service-name"
PATH = "/apis/discovery.k8s.io/v1/namespaces/models/endpointslices"
QUICK = Pace(list_deadline_s=0.4, stall_s=0.4, relist_s=30.0, first_pause_s=0.02, longest_pause_s=0.1, settled_s=0.2)
"""Short enough for tests, long enough for a busy machine."""


def pod(address: str, uid: str = "", **conditions: bool | None) -> dict:
    """One endpoint of a slice."""
    found = {"addresses": [address], "conditions": {"ready": True, **conditions}}
    return found | ({"targetRef": {"kind": "Pod", "name": f"name-of-{uid}", "uid": uid}} if uid else {})


def slice_object(
    name: str, *endpoints: dict, port: int | None = 50051, family: str = "IPv4", service: ServiceName = SERVICE
) -> dict:
    """One EndpointSlice, as the API server writes it."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": service.namespace,
            "labels": {_LABEL: service.name},
            "resourceVersion": "7",
        },
        "addressType": family,
        "endpoints": list(endpoints) or None,
        "ports": [{"name": "grpc", "port": port, "protocol": "TCP"}],
    }


class Told(asyncio.Queue[bytes | None]):
    """Lines for a watch of the slices of one Service."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self.service = service


@dataclass
class FakeApiServer:
    """Lists and watches slices. Each trouble is a field that a test sets."""

    slices: dict[str, dict] = field(default_factory=dict)
    version: int = 100
    port: int = 0
    silent: bool = False
    """Changes are not told to watches."""
    list_status: int = 200
    watch_status: int = 200
    list_gate: asyncio.Event = field(default_factory=asyncio.Event)
    page_size: int = 0
    first_line: bytes = b""
    """Sent at the beginning of each watch."""
    asked: list[dict[str, str]] = field(default_factory=list)
    """The parameters of each request."""
    tokens: list[str | None] = field(default_factory=list)
    watches: list[Told] = field(default_factory=list)
    went_elsewhere: bool = False
    """Somebody followed a redirect."""
    runner: web.AppRunner | None = None
    tls: ssl.SSLContext | None = None

    async def up(self) -> "FakeApiServer":
        self.list_gate.set()
        app = web.Application()
        app.router.add_get(PATH, self.answer)
        app.router.add_get("/elsewhere", self.elsewhere)
        self.runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", self.port, ssl_context=self.tls).start()
        self.port = self.runner.addresses[0][1]
        return self

    async def down(self) -> None:
        self.cut()
        self.list_gate.set()
        if self.runner is not None:
            await self.runner.cleanup()
        self.runner = None

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def lists(self) -> int:
        return sum("watch" not in each for each in self.asked)

    def put(self, found: dict) -> None:
        """Make or change a slice."""
        name = found["metadata"]["name"]
        self._tell("MODIFIED" if name in self.slices else "ADDED", found)
        self.slices[name] = found

    def delete(self, name: str) -> None:
        self._tell("DELETED", self.slices.pop(name))

    def bookmark(self) -> None:
        self._tell("BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}})

    def say(self, line: bytes) -> None:
        """Send any bytes on every watch."""
        for watch in self.watches:
            watch.put_nowait(line)

    def cut(self) -> None:
        """End every watch."""
        for watch in self.watches:
            watch.put_nowait(None)

    def _tell(self, kind: str, found: dict) -> None:
        self.version += 1
        found["metadata"]["resourceVersion"] = str(self.version)
        line = json.dumps({"type": kind, "object": found}).encode() + b"\n"
        for watch in self.watches:
            if not self.silent and watch.service == found["metadata"].get("labels", {}).get(_LABEL, watch.service):
                watch.put_nowait(line)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(request.query))
        self.tokens.append(request.headers.get("authorization"))
        assert _asked(request) in (SERVICE.name, PEERS.name)
        return await (self._watch(request) if "watch" in request.query else self._list(request))

    def _of(self, service: str) -> list[dict]:
        return [each for each in self.slices.values() if each["metadata"]["labels"][_LABEL] == service]

    async def elsewhere(self, request: web.Request) -> web.Response:
        self.went_elsewhere = True
        return web.json_response({})

    async def _list(self, request: web.Request) -> web.Response:
        await self.list_gate.wait()
        if self.list_status != 200:
            headers = {"location": "/elsewhere"} if self.list_status == 307 else None
            return web.json_response({"kind": "Status"}, status=self.list_status, headers=headers)
        items, start = self._of(_asked(request)), int(request.query.get("continue", 0))
        page = items[start : start + self.page_size] if self.page_size else items
        metadata = {"resourceVersion": str(self.version)}
        if start + len(page) < len(items):
            metadata["continue"] = str(start + len(page))
        return web.json_response({"kind": "EndpointSliceList", "metadata": metadata, "items": page})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        if self.watch_status != 200:
            return web.json_response({"kind": "Status", "code": self.watch_status}, status=self.watch_status)
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        lines = Told(_asked(request))
        # What changed between the list and this moment, told as a whole: a real server tells it event by event.
        if int(request.query["resourceVersion"]) < self.version and not self.silent:
            for found in self._of(lines.service):
                lines.put_nowait(json.dumps({"type": "MODIFIED", "object": found}).encode() + b"\n")
        if self.first_line:
            lines.put_nowait(self.first_line)
        self.watches.append(lines)
        try:
            while (line := await lines.get()) is not None:
                await response.write(line)
        finally:
            self.watches.remove(lines)
        return response


def _asked(request: web.Request) -> str:
    """The Service whose slices are asked for."""
    label, _, service = request.query["labelSelector"].partition("=")
    assert label == _LABEL
    return service


@pytest.fixture
async def api_server() -> AsyncIterator[FakeApiServer]:
    server = await FakeApiServer().up()
    yield server
    await server.down()


@dataclass
class Following:
    """A follower that runs, and what it published."""

    follower: Follower
    metrics: Metrics
    sets: list[list]
    task: asyncio.Task | None = None

    @property
    def addresses(self) -> list[str]:
        return [target.address for target in self.sets[-1]] if self.sets else []

    def metric(self, line: str) -> float:
        text = self.metrics.exposition().decode()
        return next(float(each.rpartition(" ")[2]) for each in text.splitlines() if each.startswith(line))

    def restarts(self, reason: str) -> float:
        return self.metric(f'trellis_gateway_watch_restarts_total{{reason="{reason}"}}')


@asynccontextmanager
async def following(server: ApiServer, pace: Pace = QUICK) -> AsyncIterator[Following]:
    """Follow the slices of a server for as long as the block lasts."""
    metrics, sets = Metrics((), [200]), []
    follower = Follower(SliceApi(server, SERVICE), sets.append, metrics.discovery(), pace)
    task = asyncio.create_task(follower.run())
    try:
        yield Following(follower, metrics, sets, task)
        assert not task.done(), "the follower ended"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture(name="following")
def following_fixture() -> Callable:
    return following


@pytest.fixture
async def followed(api_server: FakeApiServer) -> AsyncIterator[Following]:
    """A follower of `api_server`."""
    async with following(ApiServer(api_server.url)) as found:
        yield found


@pytest.fixture(name="pod")
def pod_fixture() -> Callable:
    return pod


@pytest.fixture(name="slice_object")
def slice_object_fixture() -> Callable:
    return slice_object


@pytest.fixture
def service() -> ServiceName:
    return SERVICE


@pytest.fixture
def peers() -> ServiceName:
    return PEERS


@pytest.fixture
def quick() -> Pace:
    return QUICK


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    made = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"),
        *("-keyout", str(folder / "key"), "-out", str(folder / "crt"), "-subj", "/CN=api"),
        *("-addext", "subjectAltName=IP:127.0.0.1"),
    ]
    subprocess.run(made, check=True, capture_output=True)
    return folder / "crt", folder / "key"
