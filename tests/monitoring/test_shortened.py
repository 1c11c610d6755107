"""Rules in fast motion are the same rules, but for time."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2ekit.prometheus import promtool
from monitorkit.rules import chart_rules
from monitorkit.shortened import shortened

RULES = chart_rules()

SECONDS = {"ms": 0.001, "m": 60, "h": 3600, "d": 86400}


def one(**rule: Any) -> dict[str, Any]:
    return {"groups": [{"name": "g", "rules": [rule]}]}


def only(rules: dict[str, Any]) -> dict[str, Any]:
    return dict(rules["groups"][0]["rules"][0])


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("rate(a[5m]) > 0.05", "rate(a[5000ms]) > 0.05"),
        ("max_over_time(a[1d]) == 1", "max_over_time(a[1440000ms]) == 1"),
        ("time() - a > 20 * 60", "time() - a > 20"),
        ("a > 14.4 * 0.001", "a > 14.4 * 0.001"),
        ('a{le="10.0"} > 2 and b:rate5m > 30', 'a{le="10.0"} > 2 and b:rate5m > 30'),
    ],
)
def test_ranges_and_ages_are_divided_and_nothing_else(given: str, made: str) -> None:
    assert only(shortened(one(expr=given), 60))["expr"] == made


def test_waits_are_divided_and_rules_without_one_get_none() -> None:
    assert only(shortened(one(expr="a", **{"for": "1h"}), 60)) == {"expr": "a", "for": "60000ms"}
    assert only(shortened(one(expr="a"), 60)) == {"expr": "a"}


def in_seconds(expression: str) -> str:
    """With ranges and ages in plain seconds."""
    ages = re.sub(r"\b(\d+) \* 60\b", lambda found: str(int(found[1]) * 60), expression)
    return re.sub(r"\[(\d+)(ms|m|h|d)\]", lambda found: f"[{int(found[1]) * SECONDS[found[2]]:g}]", ages)


def test_at_factor_one_every_rule_is_what_it_was() -> None:
    for before, after in zip(RULES["groups"], shortened(RULES, 1)["groups"], strict=True):
        assert [in_seconds(rule["expr"]) for rule in after["rules"]] == [
            in_seconds(rule["expr"]) for rule in before["rules"]
        ]
        assert [rule.keys() for rule in after["rules"]] == [rule.keys() for rule in before["rules"]]


def test_promtool_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump(shortened(RULES, 60)), encoding="utf-8")
    promtool("check", "rules", path)


def test_no_stretch_of_time_is_left_as_it_was() -> None:
    text = yaml.safe_dump(shortened(RULES, 60))
    assert not re.findall(r"\[\d+[smhd]\]|\* 60|for: \d+[smhd]\b", text)
