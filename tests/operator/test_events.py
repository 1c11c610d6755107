"""Which events people get to read."""

from trellis_operator.cluster.api import resource_of
from trellis_operator.cluster.events import summary, worth_telling
from trellis_operator.plan.plan import APPLY, DELETE, Action
from trellis_operator.status.condition import Condition


def test_a_cause_is_told_once_and_what_is_fine_is_told_by_what_works() -> None:
    told = worth_telling(
        [
            Condition("Ready", "False", "ImagePull", "no such image"),
            Condition("Accepted", "True", "Valid", "understood"),
            Condition("EngineAvailable", "False", "ImagePull", "no such image"),
            Condition("Progressing", "True", "RollingOut", "0 of 1"),
            Condition("Degraded", "True", "ImagePull", "no such image"),
        ]
    )
    assert [each.type for each in told] == ["Ready", "Progressing"]


def test_what_was_made_is_counted_and_what_was_changed_is_named() -> None:
    actions = [
        Action(APPLY, ("Service", "a"), "absent", {}),
        Action(APPLY, ("Service", "b"), "absent", {}),
        Action(APPLY, ("Deployment", "c"), "spec.replicas differs", {}),
        Action(DELETE, ("Job", "d"), "no longer asked for", {}),
    ]
    assert summary(actions) == (
        "made 2 Service; apply Deployment c: spec.replicas differs; delete Job d: no longer asked for"
    )


def test_calls_are_counted_by_what_they_are_about() -> None:
    assert resource_of("/api/v1/namespaces/a/services/b") == "services"
    assert resource_of("/apis/apps/v1/deployments") == "deployments"
    assert resource_of("/apis/trellis.dev/v1alpha1/namespaces/a/embeddingmodels/b/status") == "embeddingmodels/status"
    assert resource_of("/api/v1/namespaces/a") == "namespaces"
    assert resource_of("/apis/monitoring.coreos.com/v1") == ""
