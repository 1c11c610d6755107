"""Rules and situations, judged by promtool."""

import json
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from e2ekit.server import program
from monitorkit.case import Case
from monitorkit.mutants import Mutant

_RUN_S = 200.0
_MINUTE = "1m"

Rule = dict[str, Any]


def needed(rules: Sequence[Rule], alerts: Iterable[str]) -> list[Rule]:
    """The rules of these alerts, and those whose records they use."""
    chosen = [rule for rule in rules if rule.get("alert") in alerts]
    used = " ".join(rule["expr"] for rule in chosen)
    return [rule for rule in rules if "record" in rule and rule["record"] in used] + chosen


def wrong(folder: Path, rules: Sequence[Rule], mutants: Sequence[Mutant], cases: Sequence[Case]) -> set[str]:
    """What promtool says of an alert and of its mutants: those whose alert does in a case what it should not.

    All of them are rules of one file under names of their own, and all cases are series of one storage in namespaces of
    their own, unless the alert is about what is not there at all: hundreds of trials are one run of seconds.

    Args:
        folder: gets the files.
        rules: the alert, and before it the records that it uses.
        mutants: of any of these rules.
        cases: of the alert.

    Returns:
        What mutants say of themselves; "" stands for the alert as it is.
    """
    said = ["", *(mutant.said for mutant in mutants)]
    named = [_renamed(rules, mutant, number) for number, mutant in enumerate([None, *mutants])]
    of_rules, of_cases = folder / "rules.yaml", folder / "trial.yaml"
    groups = [{"name": "all", "rules": [rule for each in named for rule in each]}]
    of_rules.write_text(json.dumps({"groups": groups}), encoding="utf-8")
    alone = any("absent(" in rule["expr"] for rule in rules)
    together = [[(case, "")] for case in cases] if alone else [[(case, f"{i}-") for i, case in enumerate(cases)]]
    tests = [_trial(each, len(said)) for each in together]
    # What waits for a minute is looked at twice a minute.
    every = "30s" if any(rule.get("for") == _MINUTE for rule in rules) else _MINUTE
    trial = {"rule_files": [str(of_rules)], "evaluation_interval": every, "tests": tests}
    of_cases.write_text(json.dumps(trial), encoding="utf-8")
    done = subprocess.run(
        [program("promtool", "prometheus"), "test", "rules", str(of_cases)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_RUN_S,
        check=False,
    )
    assert done.returncode == 0 or "FAILED" in done.stdout, done.stdout
    return {said[int(number)] for number in re.findall(r'expr: "count\(ALERTS\{alertname=\\"\w+_(\d+)\\"', done.stdout)}


def _renamed(rules: Sequence[Rule], mutant: Mutant | None, number: int) -> list[Rule]:
    """Rules under names of their own: all of them, or those that a mutant changes. It reads the others as number 0."""
    made, records = [], {rule["record"]: 0 for rule in rules if "record" in rule}
    for rule in rules:
        chosen = mutant.rule if mutant is not None and mutant.of == _name(rule) else rule
        if mutant is None or chosen is not rule or any(records[name] == number for name in _read(rule, records)):
            if "record" in rule:
                records[rule["record"]] = number
            made.append(_numbered(chosen, records, number))
    return made


def _read(rule: Rule, records: Iterable[str]) -> list[str]:
    """The records that a rule uses."""
    return [name for name in records if re.search(rf"{name}(?!\w)", rule["expr"])]


def _name(rule: Rule) -> str:
    return str(rule.get("alert") or rule["record"])


def _numbered(rule: Rule, records: Mapping[str, int], number: int) -> Rule:
    expression = rule["expr"]
    for name, its_number in records.items():
        expression = re.sub(rf"{name}(?!\w)", f"{name}_{its_number}", expression)
    kind = "alert" if "alert" in rule else "record"
    return {key: value for key, value in rule.items() if key != "annotations"} | {
        kind: f"{rule[kind]}_{number}",
        "expr": expression,
    }


def _trial(cases: Sequence[tuple[Case, str]], alerts: int) -> dict[str, Any]:
    """Cases as promtool reads them: each alert counts itself, in the case's namespace, with the labels it must have."""
    series = [
        {"series": _within(place, name), "values": values}
        for case, place in cases
        for name, values in case.series.items()
    ]
    asked = [_asked(case, place, number) for case, place in cases for number in range(alerts)]
    return {"interval": _MINUTE, "input_series": series, "promql_expr_test": asked}


def _asked(case: Case, place: str, number: int) -> dict[str, Any]:
    name = f'alertname="{case.alert}_{number}",alertstate="firing"'
    where = f'namespace=~"{place}.+"' if place else ""
    matchers = ",".join(filter(None, (name, where, _within(place, case.fires or ""))))
    expected = [{"labels": "{}", "value": 0 if case.fires is None else 1}]
    return {"expr": f"count(ALERTS{{{matchers}}}) or vector(0)", "eval_time": case.at, "exp_samples": expected}


def _within(place: str, text: str) -> str:
    return text.replace('namespace="', f'namespace="{place}')
