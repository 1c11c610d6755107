"""How many models are how, as the operator's metrics tell it."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

import pytest
from trellis_operator.cluster.metrics import Metrics
from trellis_operator.cluster.models import Models
from trellis_operator.desired.all import desired
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.observed import Observed
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.status import conditions
from trellis_operator.status.tally import TYPES, tally, unserved
from trellis_operator.status.view import view

Body = dict[str, Any]


def model(name: str, **statuses: str) -> Body:
    said = [{"type": kind, "status": status} for kind, status in statuses.items()]
    return {
        "metadata": {"namespace": "a", "name": name, "uid": name, "resourceVersion": "1"},
        "status": {"conditions": said},
    }


def test_every_condition_that_a_status_has_is_counted(
    minimal: Body, in_cluster: Callable[[Body], EmbeddingModel]
) -> None:
    said = conditions(view(in_cluster(minimal), Observed(), {}))
    assert tuple(each.type for each in said) == TYPES


def test_models_are_counted_by_each_condition_and_its_status() -> None:
    found = tally([model("a", Ready="True", Accepted="False"), model("b", Ready="True"), {"metadata": {}}])
    assert {labels: count for labels, count in found.items() if count} == {
        ("Ready", "True"): 2,
        ("Accepted", "False"): 1,
    }
    assert len(found) == 3 * len(TYPES)


def test_the_metric_follows_models_that_come_change_and_go() -> None:
    metrics, models = Metrics(), Models()
    metrics.conditions.watch(lambda: models.bodies())

    def shown(kind: str, status: str) -> float | None:
        return metrics.registry.get_sample_value("trellis_operator_conditions", {"type": kind, "status": status})

    assert shown("Accepted", "False") == 0
    models.put(model("a", Accepted="False"))
    models.put(model("b", Accepted="False"))
    assert shown("Accepted", "False") == 2
    changed = model("b", Accepted="True")
    changed["metadata"]["resourceVersion"] = "2"
    models.put(changed)
    models.drop(("a", "a"))
    assert (shown("Accepted", "False"), shown("Accepted", "True")) == (0, 1)


@pytest.mark.parametrize(
    ("statuses", "reason", "counted"),
    [
        ({"Ready": "False"}, "NoCapacity", 1),
        ({"Ready": "False", "Accepted": "True", "SourceReady": "Unknown"}, "NoCapacity", 1),
        ({"Ready": "True"}, "Serving", 0),
        ({"Ready": "False"}, "Suspended", 0),
        ({"Ready": "False"}, "NotNeeded", 0),
        ({"Ready": "False"}, "ScaledToZero", 0),
        ({"Ready": "False", "Accepted": "False"}, "SecretNotFound", 0),
        ({"Ready": "False", "SourceReady": "False"}, "Downloading", 0),
        ({}, "", 0),
    ],
)
def test_a_model_is_unserved_that_is_asked_to_serve_and_does_not_for_no_reason_of_its_own(
    statuses: dict[str, str], reason: str, counted: int
) -> None:
    body = model("a", **statuses)
    for each in body["status"]["conditions"]:
        each["reason"] = reason
    assert unserved([body, {"metadata": {}}, model("b", Ready="True")]) == counted


@pytest.mark.parametrize(
    ("more", "counted"),
    [({}, 1), ({"suspend": True}, 0), ({"gateway": {"replicas": 0}}, 0), ({"engine": {"replicas": 0}}, 0)],
    ids=str,
)
def test_a_model_without_gateways_is_unserved_unless_it_is_to_rest(
    minimal: Body,
    in_cluster: Callable[[Body], EmbeddingModel],
    setting: ClusterSetting,
    as_observed: Callable[[Iterable[Body]], Observed],
    more: Body,
    counted: int,
) -> None:
    minimal["spec"] |= more
    asked = in_cluster(minimal)
    observed = as_observed(desired(asked, setting, {}))
    observed.children["Deployment", f"{asked.name}-gateway"]["status"]["readyReplicas"] = 0
    said = [asdict(each) for each in conditions(view(asked, observed, {}))]
    assert unserved([{"status": {"conditions": said}}]) == counted
