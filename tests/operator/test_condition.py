"""Conditions as a status has them: however much is told, what to do about it stands in them."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from trellis_operator.desired.all import desired
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.warmth import Warmth
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.condition import fitted
from trellis_operator.status.refusal import refusal
from trellis_operator.status.status import conditions, status
from trellis_operator.status.view import View, view

Body = dict[str, Any]
SAID = 'admission webhook "w" denied the request: '
ASK = "What to do: an admission webhook of this cluster refuses it: ask who runs that webhook."


@pytest.fixture
def look(
    minimal: Body,
    in_cluster: Callable[[Body], EmbeddingModel],
    setting: ClusterSetting,
    as_observed: Callable[[Iterable[Body]], Observed],
) -> View:
    """A look at a model that serves, of a source that can change."""
    minimal["spec"]["model"]["source"] = {"s3": {"uri": "s3://models/m"}}
    model = in_cluster(minimal)
    return view(model, as_observed(desired(model, setting, {})), {})


def messages(look: View) -> dict[str, str]:
    """By the type of condition."""
    return {each["type"]: each["message"] for each in status(look, conditions(look), {}, "now")["conditions"]}


@pytest.mark.parametrize(("said", "length"), [("no", None), ("no" * 2500, 1024)])
def test_a_refusal_says_what_to_do_however_long_it_is(look: View, said: str, length: int | None) -> None:
    refused = refusal(("Deployment", "m-engine"), 403, SAID + said)
    told = messages(dataclasses.replace(look, refusals=(refused, refused)))
    for kind, end in (("Accepted", " (1 more like it)"), ("Progressing", ""), ("Degraded", "")):
        assert told[kind].startswith(f"Deployment m-engine was not taken: {SAID}no")
        assert told[kind].endswith(ASK + end)
        assert length in (None, len(told[kind]))


def test_engines_that_hold_different_files_are_told_of_with_what_to_do_also_where_they_are_many(look: View) -> None:
    held = [Warmth(f"m-engine-{number:03}", "done", contents=f"{number:040}") for number in range(32)]
    told = messages(dataclasses.replace(look, warmth=held))["Degraded"]
    assert "m-engine-000 holds 0000" in told
    assert "… What to do: name a source that stays as it is" in told
    assert told.endswith("which makes all pods anew from the source as it is now.")
    assert len(told) == 1024


def test_what_is_too_long_and_has_no_hint_or_nothing_else_is_cut_at_its_end() -> None:
    assert fitted("a" * 30, 20) == "a" * 19 + "…"
    assert fitted("a. What to do: " + "b" * 30, 20) == "a. What to do: bbbb…"
    assert fitted("a" * 20, 20) == "a" * 20
