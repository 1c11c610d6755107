"""Alerts about what ends by itself are told before it does, with what manifests have where they say nothing."""

import re
from typing import Any

from e2ekit.models import manifest
from monitorkit.rules import chart_rules
from monitorkit.shortened import seconds
from trellis_operator.sources.patience import Patience
from trellis_operator.spec import EmbeddingModel
from trellis_operator.validate import validate

_SCRAPE_S = 60
"""Between two looks of a Prometheus that is in no hurry."""


def model() -> EmbeddingModel:
    return EmbeddingModel.from_body(validate(manifest()))


def rule(alert: str) -> dict[str, Any]:
    [found] = [each for group in chart_rules()["groups"] for each in group["rules"] if each.get("alert") == alert]
    return dict(found)


def waits_s(alert: dict[str, Any]) -> float:
    return seconds(alert.get("for", "0s"))


def test_an_engine_whose_start_does_not_end_is_told_of_before_it_ends_itself() -> None:
    stuck = rule("TrellisWarmupStuck")
    [share] = re.findall(r"warmup_timeout_seconds > ([\d.]+)", stuck["expr"])
    timeout_s = model().engine.ready_timeout_s
    assert float(share) * timeout_s + waits_s(stuck) + 2 * _SCRAPE_S < timeout_s


def test_a_download_that_gets_nothing_more_is_told_of_before_its_pod_gives_up() -> None:
    stalled = rule("TrellisDownloadStalled")
    [window] = re.findall(r"\[(\w+)\]", stalled["expr"])
    patience = Patience(deadline_s=model().download.deadline_s, stall_s=model().download.stall_s)
    assert seconds(window) + waits_s(stalled) + _SCRAPE_S <= patience.attempts * patience.stall_s
