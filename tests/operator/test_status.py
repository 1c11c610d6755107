"""The status as a whole: all of its conditions, its numbers, and how it is written over the one before."""

from collections.abc import Callable
from typing import Any

from statuskit.said import said
from trellis_operator.plan.observed import Observed
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.condition import Condition, changed, written
from trellis_operator.status.status import conditions, status, with_removals
from trellis_operator.status.view import View, view

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]

ALL = [
    "Ready",
    "Accepted",
    "SourceReady",
    "EngineAvailable",
    "GraphsWarmed",
    "GatewayAvailable",
    "Progressing",
    "Degraded",
    "Autoscaled",
]


def test_all_conditions_are_there_from_the_first_visit(minimal: Body, in_cluster: Read) -> None:
    found = said(view(in_cluster(minimal), Observed(), {}))
    assert list(found) == ALL
    assert found["Ready"] == ("False", "Fetching")
    assert found["Accepted"] == ("True", "Valid")
    assert found["Degraded"] == ("False", "AsAskedFor")


def test_what_serves_is_ready_complete_and_not_degraded(serving: View) -> None:
    assert said(serving) == {
        "Ready": ("True", "Serving"),
        "Accepted": ("True", "Valid"),
        "SourceReady": ("True", "Fetched"),
        "EngineAvailable": ("True", "AllReady"),
        "GraphsWarmed": ("True", "NotNeeded"),
        "GatewayAvailable": ("True", "AllReady"),
        "Progressing": ("True", "Complete"),
        "Degraded": ("False", "AsAskedFor"),
        "Autoscaled": ("False", "NotAskedFor"),
    }


def test_the_status_tells_the_numbers_the_digest_the_url_and_the_selector(serving: View) -> None:
    found = status(serving, conditions(serving), {}, "2026-01-01T00:00:00Z")
    assert found["observedGeneration"] == 3
    assert found["modelDigest"].startswith("sha256:")
    assert found["url"] == "http://all-minilm-l6-v2.search.svc"
    assert found["engine"] == {
        "replicas": 1,
        "readyReplicas": 1,
        "updatedReplicas": 1,
        "selector": "app.kubernetes.io/instance=all-minilm-l6-v2,app.kubernetes.io/component=engine",
    }
    assert found["resolved"]["engineImage"] == "e:1"
    assert found["resolved"]["revision"] == "0.1.0"


def test_suspended_is_said_and_is_no_failure(minimal: Body, in_cluster: Read) -> None:
    minimal["spec"]["suspend"] = True
    found = said(view(in_cluster(minimal), Observed(), {}))
    assert found["Ready"] == ("False", "Suspended")
    assert found["Degraded"] == ("False", "Suspended")


def test_a_transition_keeps_its_time_until_the_status_changes() -> None:
    first = written([Condition("Ready", "False", "Starting", "")], [], 1, "t1")
    second = written([Condition("Ready", "False", "ImagePull", "")], first, 1, "t2")
    third = written([Condition("Ready", "True", "Serving", "")], second, 1, "t3")
    assert [each[0]["lastTransitionTime"] for each in (first, second, third)] == ["t1", "t1", "t3"]


def test_only_what_says_something_else_is_news() -> None:
    before = written(
        [Condition("Ready", "False", "Starting", "a"), Condition("Accepted", "True", "Valid", "")], [], 1, "t"
    )
    now = [Condition("Ready", "False", "Starting", "b"), Condition("Accepted", "False", "Invalid", "")]
    assert changed(now, before) == now[1:]


def test_a_status_is_merged_so_that_nothing_of_the_old_one_is_left() -> None:
    before = {"url": "http://x", "resolved": {"revision": "1", "engineImage": "e"}, "gone": {"a": 1}}
    wanted = {"url": "http://x", "resolved": {"engineImage": "f"}, "engine": {"replicas": 1}}
    assert with_removals(wanted, before) == {
        "url": "http://x",
        "resolved": {"engineImage": "f", "revision": None},
        "engine": {"replicas": 1},
        "gone": None,
    }
