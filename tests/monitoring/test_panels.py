"""Every query of every panel, asked of a real Prometheus that scraped the real programs at work."""

import re

import pytest
from e2ekit.prometheus import Prometheus
from monitorkit.boards import choices, filled, finite
from roadkit.waiting import until

from helm.monitoring.dashboard import Dashboard
from helm.monitoring.pages import DASHBOARDS
from helm.monitoring.panel import Panel

pytestmark = pytest.mark.processes

_DATA_S = 60.0
PANELS = [pytest.param(page, panel, id=f"{page.name}-{panel.title}") for page in DASHBOARDS for panel in page.panels]


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
