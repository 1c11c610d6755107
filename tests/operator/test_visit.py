"""Visits to one model before an API server of a few lines: what is written, what is told, and what an outcome means."""

import copy

import pytest
from trellis_operator import kinds
from trellis_operator.cluster.errors import AwayError
from trellis_operator.cluster.visit import CHANGED, CONVERGED, GONE, REFUSED, STALE, Visitor
from visitkit.server import BUDGET, KEY, Body, Server, Unseen


def two_allowed(target: str, body: Body) -> None:
    """A webhook that wants two gateways to be taken at once, and leaves no name in managedFields."""
    if target == BUDGET:
        body["spec"]["maxUnavailable"] = 2
        body["metadata"]["managedFields"] = [
            {"manager": "trellis-operator", "fieldsV1": {"f:spec": {"f:maxUnavailable": {}}}}
        ]


async def test_a_visit_makes_what_is_missing_and_the_next_one_writes_nothing(server: Server, visitor: Visitor) -> None:
    assert await visitor.visit(KEY) == CHANGED
    assert {"deployments/all-minilm-l6-v2-engine", "services/all-minilm-l6-v2", BUDGET} <= set(server.writes)
    written = len(server.writes)
    assert await visitor.visit(KEY) == CONVERGED
    assert len(server.writes) == written
    assert server.degraded()[:2] == ("False", "AsAskedFor")


async def test_a_visit_that_finds_nothing_to_do_has_not_converged_while_the_api_server_does_not_tell_what_is_there(
    visitor: Visitor, unseen: Unseen
) -> None:
    await visitor.visit(KEY)
    unseen.kinds = ["pods", "services"]
    with pytest.raises(AwayError, match="does not tell of pods, services"):
        await visitor.visit(KEY)
    unseen.kinds = []
    assert await visitor.visit(KEY) == CONVERGED


async def test_what_a_webhook_rewrites_is_told_in_the_same_visit_and_not_written_again(
    server: Server, visitor: Visitor
) -> None:
    server.webhook = two_allowed
    await visitor.visit(KEY)
    status, reason, message = server.degraded()
    assert (status, reason) == ("True", "Rewritten")
    assert "PodDisruptionBudget all-minilm-l6-v2-gateway was taken, but spec.maxUnavailable" in message
    assert "has a hand" not in message
    assert await visitor.visit(KEY) == CONVERGED
    assert server.writes.count(BUDGET) == 1
    assert server.degraded()[1] == "Rewritten"


async def test_what_a_webhook_rewrites_is_put_right_once_it_does_so_no_more(
    server: Server, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.webhook = two_allowed
    await visitor.visit(KEY)
    server.webhook = lambda target, body: None
    monkeypatch.setattr("trellis_operator.plan.rewritten._LEFT_ALONE_S", 0.0)
    assert await visitor.visit(KEY) == CHANGED
    assert server.objects[BUDGET]["spec"]["maxUnavailable"] == 1
    assert server.degraded()[1] == "AsAskedFor"


async def test_a_manifest_that_asks_for_what_a_webhook_sets_has_it(server: Server, visitor: Visitor) -> None:
    server.webhook = two_allowed
    await visitor.visit(KEY)
    server.model["spec"]["disruption"]["maxUnavailable"] = 2
    server.model["metadata"] |= {"generation": 2, "resourceVersion": "99999"}
    visitor.models.put(copy.deepcopy(server.model))
    assert await visitor.visit(KEY) == CHANGED
    assert server.degraded()[1] == "AsAskedFor"


async def test_who_fights_over_a_field_is_told_by_name(
    server: Server, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trellis_operator.cluster.patience._CONTESTED_S", 0.0)
    await visitor.visit(KEY)
    for version in range(1000, 1004):
        edited = copy.deepcopy(server.objects[BUDGET])
        edited["spec"]["maxUnavailable"] = 7
        fields = {"f:spec": {"f:maxUnavailable": {}}}
        edited["metadata"] |= {
            "resourceVersion": str(version),
            "managedFields": [{"manager": "kubectl-edit", "fieldsV1": fields}],
        }
        server.objects[BUDGET] = edited
        visitor.store.put(kinds.BUDGET, edited)
        await visitor.visit(KEY)
    assert server.degraded()[1] == "ForeignWriter"
    assert "is changed by kubectl-edit again and again" in server.degraded()[2]


async def test_a_source_of_a_newer_crd_is_told_and_nothing_of_its_model_is_touched(
    server: Server, visitor: Visitor
) -> None:
    await visitor.visit(KEY)
    written = list(server.writes)
    server.model["spec"]["model"]["source"] = {"torrent": {"magnet": "x"}}
    newer = {"metadata": server.model["metadata"] | {"generation": 2, "resourceVersion": "9000"}}
    server.model |= newer
    visitor.models.put(copy.deepcopy(server.model))
    await visitor.visit(KEY)
    assert server.writes == written
    conditions = {each["type"]: each for each in server.model["status"]["conditions"]}
    for kind in ("Accepted", "SourceReady", "Progressing"):
        assert (conditions[kind]["status"], conditions[kind]["reason"]) == ("False", "SourceNotKnown")


async def test_no_pod_is_made_of_an_image_that_would_be_copied_as_a_whole(server: Server, visitor: Visitor) -> None:
    server.model["spec"]["model"]["source"] = {"image": {"reference": "models/m:1", "path": "./"}}
    visitor.models.put(copy.deepcopy(server.model) | {"metadata": server.model["metadata"] | {"resourceVersion": "2"}})
    await visitor.visit(KEY)
    assert "services/all-minilm-l6-v2" in server.writes
    assert not [each for each in server.writes if each.startswith("deployments/")]
    conditions = {each["type"]: each for each in server.model["status"]["conditions"]}
    assert conditions["Ready"]["reason"] == "PathNeeded"
    assert "spec.model.source.image.path" in conditions["Ready"]["message"]


@pytest.mark.parametrize(
    ("code", "said", "reason"),
    [
        (500, "Internal error occurred: failed to allocate a serviceIP: range is full", "InternalError"),
        (500, 'admission webhook "w" denied the request: its policies cannot be read', "WebhookDenied"),
        (503, 'admission webhook "w" denied the request: not now', "WebhookDenied"),
    ],
)
async def test_an_object_that_the_api_server_fails_at_is_told_of_and_the_others_are_made(
    server: Server, visitor: Visitor, monkeypatch: pytest.MonkeyPatch, code: int, said: str, reason: str
) -> None:
    monkeypatch.setattr("trellis_operator.cluster.api._FIRST_PAUSE_S", 0.001)
    server.refused["services/all-minilm-l6-v2"] = (code, said)
    assert await visitor.visit(KEY) == REFUSED
    status, found, message = server.condition("Accepted")
    assert (status, found) == ("False", reason)
    assert said in message
    assert "What to do:" in message
    assert {"deployments/all-minilm-l6-v2-engine", BUDGET} <= set(server.writes)
    server.refused = {}
    monkeypatch.setattr("trellis_operator.cluster.patience.Patience.allows", lambda *_: True)
    assert await visitor.visit(KEY) == CHANGED
    assert server.condition("Accepted")[1] == "Valid"


async def test_a_model_whose_deletion_no_watch_told_is_forgotten_though_its_children_were_left(
    server: Server, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    await visitor.visit(KEY)
    server.gone = True
    assert await visitor.visit(KEY) == CONVERGED
    monkeypatch.setattr("trellis_operator.cluster.visit._SURE_S", 0.0)
    assert await visitor.visit(KEY) == STALE
    assert KEY not in visitor.models
    assert await visitor.visit(KEY) == GONE
    assert KEY not in visitor.memories


async def test_a_model_that_is_there_is_asked_for_now_and_then_and_stays(
    server: Server, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    await visitor.visit(KEY)
    monkeypatch.setattr("trellis_operator.cluster.visit._SURE_S", 0.0)
    before = visitor.memories[KEY].sure_at
    assert await visitor.visit(KEY) == CONVERGED
    assert visitor.memories[KEY].sure_at > before
