"""Every query of every panel, asked of a real Prometheus that scraped the real programs at work."""

import math
import re
from collections.abc import Iterator

import pytest
from monitorkit.prometheus import Prometheus
from roadkit.waiting import until

from helm.monitoring.dashboard import Dashboard, Variable
from helm.monitoring.pages import DASHBOARDS
from helm.monitoring.panel import Panel

pytestmark = pytest.mark.processes

_WINDOW = "20s"
_DATA_S = 60.0
PANELS = [pytest.param(page, panel, id=f"{page.name}-{panel.title}") for page in DASHBOARDS for panel in page.panels]


def values(prometheus: Prometheus, variable: Variable, known: dict[str, str]) -> list[str]:
    """What a variable offers, once those before it are chosen."""
    series = filled(variable.series, known)
    found: list[str] = prometheus.ask(f"label/{variable.label}/values", **{"match[]": series})
    return found


def filled(expression: str, chosen: dict[str, str]) -> str:
    """An expression as Grafana sends it."""
    for name, value in {"__rate_interval": _WINDOW, **chosen}.items():
        expression = expression.replace(f"${name}", value)
    assert "$" not in expression
    return expression


def choices(prometheus: Prometheus, page: Dashboard) -> dict[str, str]:
    """All values of each variable, as a multiple choice is sent."""
    chosen: dict[str, str] = {}
    for variable in page.variables:
        chosen[variable.name] = "|".join(values(prometheus, variable, chosen))
        assert chosen[variable.name], f"{page.title}: {variable.name} offers nothing"
    return chosen


def finite(prometheus: Prometheus, expression: str) -> Iterator[float]:
    """The numbers of a query's series that are some."""
    for series in prometheus.query(expression):
        value = float(series["value"][1])
        if math.isfinite(value):
            yield value


@pytest.mark.parametrize(("page", "panel"), PANELS)
def test_a_panel_has_data(prometheus: Prometheus, page: Dashboard, panel: Panel) -> None:
    chosen = choices(prometheus, page)
    for query in panel.queries:
        expression = filled(query.expression, chosen)
        until(lambda asked=expression: list(finite(prometheus, asked)), f"{query.legend}: {expression}", _DATA_S)


@pytest.mark.parametrize(("page", "panel"), PANELS)
def test_labels_that_a_panel_names_are_in_its_data(prometheus: Prometheus, page: Dashboard, panel: Panel) -> None:
    chosen = choices(prometheus, page)
    for query in panel.queries:
        named = {*re.findall(r"\{\{(\w+)\}\}", query.legend), *panel.columns} - {"Value"}
        for series in prometheus.query(filled(query.expression, chosen)):
            assert named <= set(series["metric"]), query.expression


def test_what_is_at_work_is_not_shown_as_idle(prometheus: Prometheus) -> None:
    page = next(each for each in DASHBOARDS if each.name == "overview")
    chosen = choices(prometheus, page)
    for title in ("Requests", "Tokens", "p99 of small requests", "Engines that are ready", "Where the time goes"):
        panel = next(each for each in page.panels if each.title == title)
        expression = filled(panel.queries[0].expression, chosen)
        until(lambda asked=expression: max(finite(prometheus, asked), default=0) > 0, title, _DATA_S)
