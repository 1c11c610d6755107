"""The committed dashboards and the table of metrics, held against what generates them and against the programs."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from e2ekit.helm import Helm
from trellis_operator.desired.monitor import MODEL_LABEL

from helm.monitoring.dashboard import Dashboard
from helm.monitoring.exported import families
from helm.monitoring.pages import DASHBOARDS, ROOT, files
from helm.monitoring.table import shown_on
from helm.monitoring.unshown import UNSHOWN

CHART = ROOT / "helm" / "trellis"
PAGES = pytest.mark.parametrize("page", DASHBOARDS, ids=lambda page: page.name)
UNITS = {"reqps", "percentunit", "s", "short", "bytes"}


@pytest.mark.parametrize("path", files(), ids=str)
def test_what_is_committed_is_what_the_generator_writes(path: Path) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == files()[path], "it is older than the code; run: make dashboards"


def test_no_dashboard_lies_there_that_nobody_writes() -> None:
    assert {path.stem for path in (CHART / "dashboards").iterdir()} == {page.name for page in DASHBOARDS}


def test_every_metric_is_in_a_panel_or_has_a_reason_not_to_be() -> None:
    exported = families()
    shown = {family.name for family in exported if shown_on(family, DASHBOARDS)}
    names = {family.name for family in exported}
    assert names - shown == set(UNSHOWN)
    assert all(UNSHOWN.values())


def test_panels_speak_of_metrics_that_exist_alone() -> None:
    exported = {family.name for family in families()}
    for page in DASHBOARDS:
        for panel in page.panels:
            for query in panel.queries:
                used = re.findall(r"\b(?:trellis|process|python)_\w+", query.expression)
                assert used, f"{page.title}, {panel.title}: no metric"
                assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in used} <= exported, panel.title


@PAGES
def test_a_dashboard_says_what_each_panel_means_and_in_which_unit(page: Dashboard) -> None:
    for panel in page.panels:
        assert panel.tells.endswith("."), panel.title
        assert panel.unit in UNITS, panel.title
        assert list(panel.limits) == sorted(panel.limits), panel.title


@PAGES
def test_seconds_are_shown_as_seconds_and_bytes_as_bytes(page: Dashboard) -> None:
    for panel in page.panels:
        text = " ".join(query.expression for query in panel.queries)
        if panel.unit == "bytes":
            assert "_bytes" in text, panel.title
        if "histogram_quantile" in text and "_seconds_bucket" in text:
            assert panel.unit == "s", panel.title
        if panel.unit == "reqps":
            assert "rate(" in text, panel.title


@PAGES
def test_every_variable_is_used_and_none_is_missing(page: Dashboard) -> None:
    text = json.dumps([panel["targets"] for panel in page.json()["panels"] if panel["type"] != "row"])
    used = set(re.findall(r"\$(\w+)", text)) - {"__rate_interval"}
    assert used == {"datasource", *(variable.name for variable in page.variables)}


@PAGES
def test_panels_fill_the_grid_without_overlap(page: Dashboard) -> None:
    taken: Counter[tuple[int, int]] = Counter()
    numbers = []
    for panel in page.json()["panels"]:
        place = panel["gridPos"]
        numbers.append(panel["id"])
        assert place["x"] + place["w"] <= 24
        taken.update(
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        )
    assert max(taken.values()) == 1
    assert len(set(numbers)) == len(numbers)


def test_the_chart_brings_the_dashboards_as_they_are_and_only_when_asked() -> None:
    plain = _rendered()
    assert not [name for name in plain if "dashboard" in name]
    asked = _rendered("--set", "dashboards.enabled=true", "--set", "dashboards.annotations.grafana_folder=Trellis")
    assert set(asked) - set(plain) == {f"ConfigMap/trellis-dashboard-{page.name}" for page in DASHBOARDS}
    for page in DASHBOARDS:
        found = asked[f"ConfigMap/trellis-dashboard-{page.name}"]
        assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert found["metadata"]["annotations"] == {"grafana_folder": "Trellis"}
        file = CHART / "dashboards" / f"{page.name}.json"
        assert found["data"] == {file.name: file.read_text(encoding="utf-8")}


def test_a_dashboard_goes_by_the_label_that_the_pod_monitor_sets() -> None:
    for page in DASHBOARDS:
        for variable in page.variables:
            assert variable.label in {"namespace", "pod", MODEL_LABEL}


def _rendered(*flags: str) -> dict[str, dict]:
    text = Helm().run("template", "trellis", str(CHART), "--kube-version", "1.34.0", *flags)
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in yaml.safe_load_all(text) if each}
