"""Asked of a real Prometheus that scrapes the real programs at work: every panel's queries, pictures, KEDA's query.

All of it is here, because the programs work only for as long as this module's tests run.
"""

import re
import time
from pathlib import Path
from typing import Any

import matplotlib.image
import pytest
from e2ekit.prometheus import Prometheus
from monitorkit.boards import MOST_PICTURE_BYTES, WINDOW, choices, filled, finite
from monitorkit.programs import NAMESPACE, model
from roadkit.waiting import until
from trellis_operator.scaling.formula import Demand, Targets, need
from trellis_operator.scaling.promql import need_query

from helm.monitoring.dashboard import Dashboard
from helm.monitoring.drawn import Span, contents
from helm.monitoring.pages import DASHBOARDS
from helm.monitoring.panel import Panel
from helm.monitoring.pictures import write

pytestmark = pytest.mark.processes

_DATA_S = 60.0
_WINDOW_S = 60
_MOST_EMPTY = 3
"""Panels whose data are no numbers at times, as the quantile of an hour without a request."""
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


def test_pictures_are_drawn_from_what_prometheus_saw(prometheus: Prometheus, tmp_path: Path) -> None:
    start = time.time() - 30

    def empty(page: Dashboard) -> list[str]:
        found = contents(prometheus.ask, page, Span(start, time.time()), WINDOW)
        return [title for title, each in found.items() if not each.lines and not each.rows]

    until(lambda: all(len(empty(page)) <= _MOST_EMPTY for page in DASHBOARDS), "panels have lines", 60)
    for path in write(prometheus.ask, Span(start, time.time()), WINDOW, tmp_path):
        height, width, _ = matplotlib.image.imread(path).shape
        assert width > 1000
        assert height > 300
        assert path.stat().st_size <= MOST_PICTURE_BYTES


def test_on_a_prometheus_that_scrapes_real_programs_the_query_gives_the_need(prometheus: Prometheus) -> None:
    targets = Targets(waiting_tokens=None, utilization=0.5, min_replicas=1, max_replicas=9)
    own = f'{{namespace="{NAMESPACE}",embedding_model="{model().name}"}}'

    def value(expression: str, at: float) -> float | None:
        series: list[dict[str, Any]] = prometheus.ask("query", query=expression, time=repr(at))["result"]
        return float(series[0]["value"][1]) if series else None

    def now() -> float:
        return float(prometheus.query("vector(time())")[0]["value"][1])

    found: list[tuple[float, Demand]] = []

    def seen() -> bool:
        at = now()
        needed = value(need_query(NAMESPACE, model().name, targets, _WINDOW_S), at)
        parts = [
            value(f"sum(trellis_gateway_held_tokens{own}) + sum(trellis_engine_queued_tokens{own})", at),
            value(f"sum(rate(trellis_engine_tokens_total{own}[{_WINDOW_S}s]))", at),
            value(f"max_over_time(trellis_engine_capacity_tokens_per_second{own}[1h])", at),
            value(f"trellis_engine_max_queued_tokens{own}", at),
        ]
        waiting, rate, capacity, room = (part or 0.0 for part in parts)
        found.append((needed or 0.0, Demand(waiting, rate, capacity, room)))
        return bool(needed and capacity and room)

    until(seen, "the load of the programs needs a part of an engine", 60)
    needed, demand = found[-1]
    assert needed == pytest.approx(need(demand, targets))
