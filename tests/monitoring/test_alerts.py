"""Alerts and recording rules, judged by promtool: each must fire where it should, and nowhere else."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2ekit.helm import Helm
from e2ekit.prometheus import promtool
from monitorkit.case import Case
from monitorkit.cases import CASES
from monitorkit.judge import needed, wrong
from monitorkit.mutants import mutants
from monitorkit.proved import ON_A_CLUSTER
from monitorkit.rules import RULES, chart_rules

from helm.monitoring.exported import families
from helm.monitoring.pages import ROOT

CHART = ROOT / "helm" / "trellis"
_PARTS = ("## Meaning", "## Causes", "## Commands")


def rules() -> list[dict[str, Any]]:
    return [rule for group in chart_rules()["groups"] for rule in group["rules"]]


ALERTS = {rule["alert"]: rule for rule in rules() if "alert" in rule}


def test_the_rules_are_well_formed() -> None:
    assert f"{len(rules())} rules found" in promtool("check", "rules", RULES)


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_fires_where_it_should_and_nowhere_else_and_would_not_if_it_were_a_little_wrong(
    tmp_path: Path, name: str
) -> None:
    own, cases = needed(rules(), {name}), [case for case in CASES if case.alert == name]
    changed = [mutant for rule in own for mutant in mutants(rule)]
    found = wrong(tmp_path, own, changed, cases)
    assert "" not in found, "the alert itself"
    assert {mutant.said for mutant in changed} == found


def test_a_case_that_is_wrong_is_seen(tmp_path: Path) -> None:
    [first, *_] = [case for case in CASES if case.fires]
    turned = Case(first.alert, first.said, first.series, first.at, None)
    assert wrong(tmp_path, needed(rules(), {first.alert}), [], [turned]) == {""}


def test_what_is_recorded_looks_back_as_far_as_its_name_says() -> None:
    for rule in rules():
        name = re.search(r"ratio_rate(\d+[mh])$", rule.get("record", ""))
        if name:
            assert set(re.findall(r"\[(\w+)\]", rule["expr"])) == {name[1]}, rule


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    assert {case.alert for case in CASES if case.fires is not None} == set(ALERTS)
    assert {case.alert for case in CASES if case.fires is None} == set(ALERTS)


def test_for_every_alert_there_is_a_real_fault_on_a_cluster_that_makes_it_fire() -> None:
    assert {alert for place in ON_A_CLUSTER for alerts in place.values() for alert in alerts} == set(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_has_a_runbook_that_says_what_it_means_why_it_is_and_what_to_type(name: str) -> None:
    page = ROOT / ALERTS[name]["annotations"]["runbook"]
    assert page.relative_to(ROOT).as_posix() == f"docs/runbooks/{name}.md"
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {name}\n")
    meaning, causes, commands = (text.index(part) for part in _PARTS)
    assert meaning < causes < commands
    assert "```sh\n" in text[commands:]


def test_the_list_of_runbooks_has_each_alert_with_its_urgency() -> None:
    text = (ROOT / "docs" / "runbooks" / "README.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| \[(\w+)\]\(\1\.md\) \| (\w+) \|", text, re.MULTILINE))
    assert listed == {name: rule["labels"]["severity"] for name, rule in ALERTS.items()}


def test_there_is_no_runbook_for_an_alert_that_does_not_exist() -> None:
    pages = {page.stem for page in (ROOT / "docs" / "runbooks").glob("Trellis*.md")}
    assert pages == set(ALERTS)


def test_rules_speak_of_metrics_that_exist_alone() -> None:
    exported = {family.name for family in families()}
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    for rule in rules():
        expression = rule["expr"]
        for name in recorded:
            expression = expression.replace(name, "")
        used = re.findall(r"\b(?:trellis|process)_\w+", expression)
        assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in used} <= exported, rule


def test_the_bounds_of_late_answers_are_bounds_of_the_histogram() -> None:
    from ivy.metrics import SIZES, Metrics

    buckets = set(re.findall(r'request_seconds_bucket{le="([^"]+)"', Metrics((), ()).exposition().decode()))
    for rule in rules():
        assert set(re.findall(r'le="([^"]+)"', rule["expr"])) <= buckets
        classes = set(re.findall(r'max_tokens="(\w+)"', rule["expr"]))
        assert not classes or classes == {*map(str, SIZES), "any"}


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_urgent_it_is_and_names_labels_that_it_has(name: str) -> None:
    rule = ALERTS[name]
    assert rule["labels"]["severity"] in {"page", "ticket"}
    named = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
    known = "".join(case.fires or "" for case in CASES if case.alert == name)
    assert named <= set(re.findall(r"(\w+)=", known)), rule["annotations"]


def test_the_chart_brings_the_rules_as_they_are_and_only_when_asked() -> None:
    asked = ("--set", "prometheusRule.enabled=true", "--set", "prometheusRule.labels.release=prometheus")
    [made] = [each for each in _rendered(*asked) if each["kind"] == "PrometheusRule"]
    assert made["spec"] == chart_rules()
    assert made["metadata"]["labels"]["release"] == "prometheus"
    assert not [each for each in _rendered() if each["kind"] == "PrometheusRule"]


def _rendered(*flags: str) -> list[dict[str, Any]]:
    text = Helm().run("template", "trellis", str(CHART), "--kube-version", "1.34.0", *flags)
    return [each for each in yaml.safe_load_all(text) if each]
