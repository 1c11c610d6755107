"""Alerts and recording rules, judged by promtool: each must fire where it should, and nowhere else."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2ekit.helm import Helm
from monitorkit.cases import CASES, Case
from monitorkit.prometheus import promtool

from helm.monitoring.exported import families
from helm.monitoring.pages import ROOT

CHART = ROOT / "helm" / "trellis"
RULES = CHART / "rules" / "trellis.yaml"
_PARTS = ("## Meaning", "## Causes", "## Commands")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]


ALERTS = {rule["alert"]: rule for rule in rules() if "alert" in rule}


def trial(case: Case) -> dict[str, Any]:
    """A case as promtool reads it: the alert counts itself, with the labels that it must have."""
    matchers = ",".join(filter(None, (f'alertname="{case.alert}"', 'alertstate="firing"', case.fires)))
    firing = {"expr": f"count(ALERTS{{{matchers}}}) or vector(0)", "eval_time": case.at}
    return {
        "interval": "1m",
        "name": f"{case.alert}: {case.said}",
        "input_series": [{"series": series, "values": values} for series, values in case.series.items()],
        "promql_expr_test": [firing | {"exp_samples": [{"labels": "{}", "value": 0 if case.fires is None else 1}]}],
    }


def judge(folder: Path, case: Case) -> None:
    """Let promtool run a case; fails with what it says."""
    path = folder / "trial.yaml"
    asked = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [trial(case)]}
    path.write_text(yaml.safe_dump(asked), encoding="utf-8")
    promtool("test", "rules", path)


def test_the_rules_are_well_formed() -> None:
    assert f"{len(rules())} rules found" in promtool("check", "rules", RULES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.said}")
def test_an_alert_fires_where_it_should_and_nowhere_else(tmp_path: Path, case: Case) -> None:
    judge(tmp_path, case)


def test_a_case_that_is_wrong_is_seen(tmp_path: Path) -> None:
    [first, *_] = [case for case in CASES if case.fires]
    with pytest.raises(AssertionError, match="FAILED"):
        judge(tmp_path, Case(first.alert, first.said, first.series, first.at, None))


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    assert {case.alert for case in CASES if case.fires is not None} == set(ALERTS)
    assert {case.alert for case in CASES if case.fires is None} == set(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_has_a_runbook_that_says_what_it_means_why_it_is_and_what_to_type(name: str) -> None:
    page = ROOT / ALERTS[name]["annotations"]["runbook"]
    assert page.relative_to(ROOT).as_posix() == f"docs/runbooks/{name}.md"
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {name}\n")
    meaning, causes, commands = (text.index(part) for part in _PARTS)
    assert meaning < causes < commands
    assert "```sh\n" in text[commands:]


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
    assert made["spec"] == yaml.safe_load(RULES.read_text(encoding="utf-8"))
    assert made["metadata"]["labels"]["release"] == "prometheus"
    assert not [each for each in _rendered() if each["kind"] == "PrometheusRule"]


def _rendered(*flags: str) -> list[dict[str, Any]]:
    text = Helm().run("template", "trellis", str(CHART), "--kube-version", "1.34.0", *flags)
    return [each for each in yaml.safe_load_all(text) if each]
