"""Who holds the Lease: what ends a leader at once, and what it bears while the Lease still lasts."""

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
