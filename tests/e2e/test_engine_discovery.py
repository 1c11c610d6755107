"""How gateways find their engines, against the real API server over a connection that stalls, breaks and goes away.

Condition 3: whatever happens to the watch, the set becomes that of the cluster, and no engine is left that is gone.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from e2ekit.kubectl import Kubectl
from e2ekit.wire import Wire, wired
from ivy.client.target import Target
from ivy.cluster.api import SliceApi
from ivy.cluster.follower import Follower, Pace
from ivy.cluster.wire import read_event
from ivy.config import ApiServer, ServiceName
from ivy.errors import SyncFailed
from ivy.metrics import Metrics

pytestmark = pytest.mark.cluster

PACE = Pace(list_deadline_s=3, stall_s=3, relist_s=30, first_pause_s=0.1, longest_pause_s=1, settled_s=2)
PATIENCE_S = 30


@dataclass
class Place:
    """A namespace with slices that a test writes by hand, and a way to read them."""

    kubectl: Kubectl
    wire: Wire

    @property
    def api(self) -> SliceApi:
        return SliceApi(ApiServer(f"http://127.0.0.1:{self.wire.port}"), ServiceName(self.kubectl.namespace, "engines"))

    async def put(self, name: str, *hosts: str) -> None:
        metadata = {"name": name, "labels": {"kubernetes.io/service-name": "engines"}}
        endpoints = [{"addresses": [host], "conditions": {"ready": True}} for host in hosts]
        found = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": metadata,
            "addressType": "IPv4",
            "endpoints": endpoints,
            "ports": [{"name": "grpc", "port": 50051, "protocol": "TCP"}],
        }
        await asyncio.to_thread(self.kubectl.apply, found)

    async def delete(self, name: str) -> None:
        await asyncio.to_thread(self.kubectl.run, "delete", "endpointslice", name)


@dataclass
class Followed:
    """What a follower has told last."""

    metrics: Metrics
    targets: list[Target] = field(default_factory=list)

    async def becomes(self, *hosts: str) -> None:
        wanted = [f"{host}:50051" for host in hosts]
        await self._until(lambda: [each.address for each in self.targets] == wanted)

    async def breaks(self, reason: str, before: float = 0) -> None:
        await self._until(lambda: self.breaks_of(reason) > before)

    async def _until(self, holds: Callable[[], bool]) -> None:
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while not holds():
            assert asyncio.get_running_loop().time() < deadline, f"still {self.targets}"
            await asyncio.sleep(0.05)

    def breaks_of(self, reason: str) -> float:
        line = f'trellis_gateway_watch_restarts_total{{reason="{reason}"}} '
        text = self.metrics.exposition().decode()
        return next(float(each.removeprefix(line)) for each in text.splitlines() if each.startswith(line))


@asynccontextmanager
async def following(place: Place) -> AsyncIterator[Followed]:
    followed = Followed(Metrics((), [200]))

    def publish(targets: list[Target]) -> None:
        followed.targets = targets

    follower = Follower(place.api, publish, followed.metrics.discovery(), PACE)
    task = asyncio.create_task(follower.run())
    try:
        yield followed
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def place(kubectl: Kubectl, tmp_path: Path) -> AsyncIterator[Place]:
    async with wired(kubectl, tmp_path) as wire:
        yield Place(kubectl, wire)


async def test_engines_are_seen_as_they_come_change_and_go(place):
    await place.put("a", "10.99.0.1")
    async with following(place) as followed:
        await followed.becomes("10.99.0.1")
        await place.put("b", "10.99.0.2", "10.99.0.3")
        await followed.becomes("10.99.0.1", "10.99.0.2", "10.99.0.3")
        await place.put("b", "10.99.0.3")
        await followed.becomes("10.99.0.1", "10.99.0.3")
        await place.delete("a")
        await followed.becomes("10.99.0.3")


async def test_a_delete_that_a_stalled_watch_never_tells_leaves_no_ghost(place):
    await place.put("a", "10.99.0.1")
    await place.put("b", "10.99.0.2")
    async with following(place) as followed:
        await followed.becomes("10.99.0.1", "10.99.0.2")
        place.wire.flowing.clear()
        await place.delete("b")
        await followed.breaks("stalled")
        assert [each.address for each in followed.targets] == ["10.99.0.1:50051", "10.99.0.2:50051"]
        place.wire.flowing.set()
        await followed.becomes("10.99.0.1")


async def test_a_list_that_hangs_is_given_up_and_the_last_set_stays(place):
    await place.put("a", "10.99.0.1")
    async with following(place) as followed:
        await followed.becomes("10.99.0.1")
        place.wire.flowing.clear()
        await followed.breaks("slow")
        assert [each.address for each in followed.targets] == ["10.99.0.1:50051"]
        place.wire.flowing.set()
        await place.put("a", "10.99.0.2")
        await followed.becomes("10.99.0.2")


async def test_a_watch_that_breaks_again_and_again_misses_nothing(place):
    async with following(place) as followed:
        for number in range(1, 6):
            await place.put("a", f"10.99.0.{number}")
            place.wire.cut()
            await followed.becomes(f"10.99.0.{number}")


async def test_while_the_api_server_is_away_the_last_set_stays_and_then_it_is_right(place):
    await place.put("a", "10.99.0.1")
    await place.put("b", "10.99.0.2")
    async with following(place) as followed:
        await followed.becomes("10.99.0.1", "10.99.0.2")
        await place.wire.down()
        await place.delete("b")
        await place.put("a", "10.99.0.3")
        await followed.breaks("unreachable", before=3)
        assert [each.address for each in followed.targets] == ["10.99.0.1:50051", "10.99.0.2:50051"]
        await place.wire.up()
        await followed.becomes("10.99.0.3")


async def test_a_version_that_the_api_server_has_forgotten_is_known_as_such(forgetful, place):
    if not forgetful:
        pytest.skip("this API server still knows its first version; only one of our own is started again")

    async def watch() -> None:
        async with place.api.connected() as connected, aclosing(connected.watch("1", 10)) as events:
            async for line in events:
                read_event(line)

    with pytest.raises(SyncFailed) as caught:
        await watch()
    assert caught.value.reason == "expired"
