"""What engines hold of a source that can change: who is asked, what the status says, and what to do."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from trellis_operator.desired.all import desired
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.warmth import Warmth
from trellis_operator.source import can_change, source_from
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.condition import Condition, written
from trellis_operator.status.status import conditions, status
from trellis_operator.status.view import View, view

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]
Observe = Callable[[Iterable[Body]], Observed]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
A = Warmth("m-engine-a", "done", contents="a0a0", revision=COMMIT)
SAME = Warmth("m-engine-b", "done", contents="a0a0", revision=COMMIT)
OTHER = Warmth("m-engine-c", "done", contents="b1b1", revision="f" * 40)
OLD = Warmth("m-engine-d", "done")
FLOATING = {"huggingFace": {"repo": "a/b", "revision": "main"}}
PACKAGE = {"package": {"name": "a", "version": "1", "path": "m"}}
NOW = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"huggingFace": {"repo": "a/b", "revision": COMMIT}}, False),
        (FLOATING, True),
        ({"huggingFace": {"repo": "a/b", "allowFloatingRevision": True}}, True),
        ({"s3": {"uri": "s3://models/m"}}, True),
        ({"pvc": {"claimName": "weights", "path": "."}}, True),
        ({"image": {"reference": "models/m:1", "path": "m"}}, True),
        ({"image": {"reference": "models/m@sha256:" + "0" * 64, "path": "m"}}, False),
        (PACKAGE, False),
    ],
)
def test_a_source_can_change_unless_it_is_named_by_what_it_is(source: Body, expected: bool) -> None:
    assert can_change(source_from(source)) is expected


@pytest.fixture
def seen(minimal: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe) -> Callable[..., View]:
    """A look at a model of a source, which serves, and whose engines tell this."""

    def look(*told: Warmth, source: Body = FLOATING, **engine: int) -> View:
        minimal["spec"]["model"]["source"] = source
        model = in_cluster(minimal)
        observed = as_observed(desired(model, setting, {}))
        observed.children["Deployment", "all-minilm-l6-v2-engine"]["status"] |= engine
        return view(model, observed, {}, warmth=told)

    return look


def degraded(look: View) -> tuple[str, str, str]:
    [found] = [each for each in conditions(look) if each.type == "Degraded"]
    return found.status, found.reason, found.message


def resolved(look: View, before: Body | None = None) -> Body:
    found: Body = status(look, conditions(look), before or {}, NOW)["resolved"]
    return found


def test_engines_that_hold_the_same_are_as_asked_for_and_the_commit_is_in_the_status(
    seen: Callable[..., View],
) -> None:
    look = seen(A, SAME)
    assert degraded(look)[:2] == ("False", "AsAskedFor")
    assert {"revision": COMMIT, "contents": "a0a0"}.items() <= resolved(look).items()


def test_engines_that_hold_different_files_are_told_of_with_what_to_do(seen: Callable[..., View]) -> None:
    look = seen(A, SAME, OTHER)
    found, reason, message = degraded(look)
    assert (found, reason) == ("True", "MixedContents")
    assert f"m-engine-a holds a0a0 (revision {COMMIT}); m-engine-c holds b1b1" in message
    assert "name a commit in model.source.huggingFace.revision" in message
    assert "trellis.dev/restart" in message
    assert "contents" not in resolved(look)
    assert resolved(look)["revision"] == "main"
    assert "name a source that stays as it is" in degraded(seen(A, OTHER, source={"s3": {"uri": "s3://models"}}))[2]


def test_during_a_rollout_different_files_are_as_it_should_be(seen: Callable[..., View]) -> None:
    assert degraded(seen(A, OTHER, updatedReplicas=0))[:2] != ("True", "MixedContents")


def test_engines_that_tell_nothing_of_it_do_not_count(seen: Callable[..., View]) -> None:
    assert degraded(seen(A, OLD))[:2] == ("False", "AsAskedFor")
    assert resolved(seen(A, OLD))["contents"] == "a0a0"


def test_what_is_known_of_a_model_stays_while_no_engine_answers(seen: Callable[..., View]) -> None:
    look = seen(A)
    before = status(look, conditions(look), {}, NOW)
    assert resolved(seen(), before) == before["resolved"]
    assert "contents" not in resolved(seen(), before | {"modelDigest": "sha256:another"})
    pinned = {"huggingFace": {"repo": "a/b", "revision": COMMIT}}
    assert "contents" not in resolved(seen(source=pinned), before)


def test_no_text_of_a_status_is_longer_than_its_field_lets_it_be(seen: Callable[..., View]) -> None:
    """An API server refuses a whole status for one text that is too long."""
    long = {"image": {"reference": "models/m@sha512:" + "0" * 128, "path": "m"}}
    assert resolved(seen(source=long))["revision"] == "sha512:" + "0" * 92 + "…"
    many = Warmth("m-engine-a", "done", contents="a" * 101, revision="b" * 4096)
    found = resolved(seen(many))
    assert (len(found["contents"]), len(found["revision"])) == (100, 100)


def test_a_condition_always_has_a_reason() -> None:
    """An API server refuses a whole status for one that has none."""
    [found] = written([Condition("GraphsWarmed", "False", "", "an engine told nothing")], [], 1, NOW)
    assert found["reason"] == "Unknown"


def test_gateways_that_wait_beside_ready_engines_of_such_a_source_are_given_a_hint(seen: Callable[..., View]) -> None:
    for source, expected in ((FLOATING, True), ({"huggingFace": {"repo": "a/b", "revision": COMMIT}}, False)):
        look = seen(A, source=source)
        look.observed.children["Deployment", "all-minilm-l6-v2-gateway"]["status"]["readyReplicas"] = 0
        [found] = [each for each in conditions(look) if each.type == "GatewayAvailable"]
        assert (found.status, found.reason) == ("False", "Starting")
        assert ("trellis.dev/restart" in found.message) is expected


@pytest.mark.parametrize(
    ("source", "callers"), [(FLOATING, 2), ({"package": {"name": "a", "version": "1", "path": "m"}}, 1)]
)
def test_the_operator_is_let_in_to_engines_of_a_source_that_can_change(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, source: Body, callers: int
) -> None:
    minimal["spec"]["model"]["source"] = source
    [policy] = [each for each in desired(in_cluster(minimal), setting, {}) if each["kind"] == "NetworkPolicy"]
    assert len(policy["spec"]["ingress"][0]["from"]) == callers
