"""Who holds the Lease: what ends a leader at once, and what it bears while the Lease still lasts."""

import asyncio
import copy
from dataclasses import dataclass, field
from typing import Any

import pytest
from trellis_operator.cluster import lease
from trellis_operator.cluster.errors import RefusedError
from trellis_operator.cluster.fence import Fence
from trellis_operator.cluster.lease import Leadership, LeadershipLostError

Body = dict[str, Any]


@dataclass
class Server:
    """An API server with one Lease; each answer to a renewal is one of `answers`, and then it is taken."""

    answers: list[RefusedError] = field(default_factory=list)
    renewals: int = 0

    async def get(self, path: str) -> Body | None:
        return None

    async def create(self, path: str, body: Body) -> Body:
        return body

    async def replace(self, path: str, body: Body) -> Body:
        self.renewals += 1
        if self.answers:
            raise self.answers.pop(0)
        raise RefusedError(409, "Conflict", "the object has been modified")


@pytest.mark.parametrize(
    ("answers", "renewals"),
    [
        ([], 1),
        ([RefusedError(500, "InternalError", 'failed calling webhook "w": EOF')], 2),
        ([RefusedError(403, "Forbidden", "no"), RefusedError(403, "Forbidden", "no")], 3),
    ],
)
async def test_only_a_lease_that_another_one_has_ends_a_leader_before_its_time(
    monkeypatch: pytest.MonkeyPatch, answers: list[RefusedError], renewals: int
) -> None:
    monkeypatch.setattr(lease, "_RENEW_S", 0.001)
    server = Server(answers)
    leadership = Leadership(server, "trellis-system", "me", Fence())  # type: ignore[arg-type]
    await leadership.acquire()
    with pytest.raises(LeadershipLostError, match="another's"):
        await leadership.hold()
    assert server.renewals == renewals


@dataclass
class Kept:
    """An API server that keeps the Lease as it is written, and knows no write of an older version."""

    lease: Body | None = None
    lost: int = 0
    """So many writes that are taken, and sent again by a client that got no answer."""
    answered: int = 0
    written: asyncio.Event = field(default_factory=asyncio.Event)

    async def get(self, path: str) -> Body | None:
        return copy.deepcopy(self.lease)

    async def create(self, path: str, body: Body) -> Body:
        return await self._write(body)

    async def replace(self, path: str, body: Body) -> Body:
        assert self.lease is not None
        if body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise RefusedError(409, "Conflict", "the object has been modified")
        return await self._write(body)

    async def _write(self, body: Body) -> Body:
        version = int(self.lease["metadata"]["resourceVersion"]) + 1 if self.lease else 1
        self.lease = copy.deepcopy(body | {"metadata": body["metadata"] | {"resourceVersion": str(version)}})
        if self.lost:
            self.lost -= 1
            raise RefusedError(409, "Conflict", "the object has been modified")
        self.answered += 1
        self.written.set()
        return copy.deepcopy(self.lease)


async def test_a_leader_whose_renewal_was_taken_and_not_answered_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_RENEW_S", 0.001)
    server = Kept()
    leadership = Leadership(server, "trellis-system", "me", Fence())  # type: ignore[arg-type]
    await leadership.acquire()
    server.lost = 1
    server.written.clear()
    holding = asyncio.create_task(leadership.hold())
    async with asyncio.timeout(10):
        await server.written.wait()
    assert not holding.done()
    assert server.lease is not None
    assert server.lease["spec"]["holderIdentity"] == "me"
    assert server.lease["spec"]["leaseTransitions"] == 0
    server.lease["spec"]["holderIdentity"] = "another"
    server.lease["metadata"]["resourceVersion"] = "99"
    with pytest.raises(LeadershipLostError, match="another's"):
        async with asyncio.timeout(10):
            await holding


async def test_a_candidate_whose_claim_was_taken_and_not_answered_has_the_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lease, "_WATCH_S", 0.001)
    fence = Fence()
    async with asyncio.timeout(10):
        await Leadership(Kept(lost=1), "trellis-system", "me", fence).acquire()  # type: ignore[arg-type]
    assert fence.left_s() > 0


class Counting(Fence):
    """Counts how often it was opened."""

    opened = 0

    def open_until(self, deadline_s: float) -> None:
        self.opened += 1
        super().open_until(deadline_s)


async def test_a_lease_that_is_still_ours_opens_no_fence_before_a_renewal_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who else writes into the Lease moves what others count from: only an answer says since when it is renewed."""
    monkeypatch.setattr(lease, "_RENEW_S", 0.001)
    server, fence = Kept(), Counting()
    leadership = Leadership(server, "trellis-system", "me", fence)  # type: ignore[arg-type]
    await leadership.acquire()
    server.lost = 5
    server.written.clear()
    holding = asyncio.create_task(leadership.hold())
    async with asyncio.timeout(10):
        await server.written.wait()
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)
    assert 2 <= fence.opened <= server.answered
