"""Rules and situations, judged by promtool."""

import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from e2ekit.server import program
from monitorkit.case import Case

_RUN_S = 200.0
_EVERY = "30s"
"""Rules are looked at twice as often as series have values: some alerts wait for a minute."""

Rule = dict[str, Any]


def needed(rules: Sequence[Rule], alerts: Iterable[str]) -> list[Rule]:
    """The rules of these alerts, and those whose records they use."""
    chosen = [rule for rule in rules if rule.get("alert") in alerts]
    used = " ".join(rule["expr"] for rule in chosen)
    return [rule for rule in rules if "record" in rule and rule["record"] in used] + chosen


def judged(folder: Path, trials: Sequence[tuple[Sequence[Rule], Sequence[Case]]]) -> list[str]:
    """What promtool says of each: rules and cases; empty where every case ends as it should."""
    paths = [_written(folder, number, rules, cases) for number, (rules, cases) in enumerate(trials)]
    command = [program("promtool", "prometheus"), "test", "rules", *map(str, paths)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_RUN_S, check=False
    )
    said = re.split(r"^Unit Testing:.*$", done.stdout, flags=re.MULTILINE)[1:]
    assert len(said) == len(paths), done.stdout
    return ["" if each.strip() == "SUCCESS" else each.strip() for each in said]


def _written(folder: Path, number: int, rules: Sequence[Rule], cases: Sequence[Case]) -> Path:
    of_rules, of_cases = folder / f"rules-{number}.yaml", folder / f"trial-{number}.yaml"
    of_rules.write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": list(rules)}]}), encoding="utf-8")
    trial = {"rule_files": [str(of_rules)], "evaluation_interval": _EVERY, "tests": [_trial(case) for case in cases]}
    of_cases.write_text(yaml.safe_dump(trial), encoding="utf-8")
    return of_cases


def _trial(case: Case) -> dict[str, Any]:
    """A case as promtool reads it: the alert counts itself, with the labels that it must have."""
    matchers = ",".join(filter(None, (f'alertname="{case.alert}"', 'alertstate="firing"', case.fires)))
    firing = {"expr": f"count(ALERTS{{{matchers}}}) or vector(0)", "eval_time": case.at}
    return {
        "interval": "1m",
        "name": f"{case.alert}: {case.said}",
        "input_series": [{"series": series, "values": values} for series, values in case.series.items()],
        "promql_expr_test": [firing | {"exp_samples": [{"labels": "{}", "value": 0 if case.fires is None else 1}]}],
    }
