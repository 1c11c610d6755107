"""What comes out of the API server otherwise than it was applied: left alone, told, and tried again after a while."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from trellis_operator.desired.all import desired
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.rewritten import Rewritten, left_alone, told
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.status import conditions
from trellis_operator.status.view import View, view

Body = dict[str, Any]


@pytest.fixture
def serving(
    minimal: Body,
    in_cluster: Callable[[Body], EmbeddingModel],
    setting: ClusterSetting,
    as_observed: Callable[[Iterable[Body]], Observed],
) -> View:
    model = in_cluster(minimal)
    return view(model, as_observed(desired(model, setting, {})), {})


def test_what_was_taken_and_changed_on_the_way_is_told_and_serves_on(serving: View) -> None:
    target = ("PodDisruptionBudget", "x-gateway")
    sentences = [told(target, Rewritten("f", "spec.maxUnavailable", ["istiod"], 0.0)), "another one"]
    found = {each.type: each for each in conditions(view(serving.model, serving.observed, {}, rewritten=sentences))}
    assert (found["Degraded"].status, found["Degraded"].reason) == ("True", "Rewritten")
    for words in ("PodDisruptionBudget x-gateway", "spec.maxUnavailable", "istiod", "What to do:", "(1 more objects"):
        assert words in found["Degraded"].message
    assert found["Ready"].holds
    assert found["Accepted"].holds


def test_who_rewrites_is_a_webhook_where_nobody_else_manages_the_field() -> None:
    said = told(("Service", "x"), Rewritten("f", "spec.type", [], 0.0))
    assert "webhook" in said
    assert "has a hand" not in said


def test_what_was_rewritten_is_left_alone_for_a_while_and_then_tried_again() -> None:
    known = {("Service", "x"): Rewritten("f", "spec.type", [], at=100.0)}
    assert left_alone(known, 1000.0) == {("Service", "x"): "f"}
    assert left_alone(known, 1400.0) == {}
