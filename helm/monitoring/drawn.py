"""What is drawn of a panel: lines with their names, or rows of a table, read from a Prometheus. Draws nothing."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from helm.monitoring.asked import Ask, choices, filled
from helm.monitoring.dashboard import Dashboard
from helm.monitoring.panel import Panel

_POINTS = 120


@dataclass(frozen=True)
class Span:
    """From when until when, in seconds since the epoch."""

    start: float
    end: float

    @property
    def step(self) -> float:
        """Seconds between two points of a line."""
        return max((self.end - self.start) / _POINTS, 1.0)


@dataclass(frozen=True)
class Line:
    """One series: minutes since the start of the span, and values."""

    name: str
    minutes: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Content:
    """Of one panel: lines, or the rows of a table."""

    lines: tuple[Line, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def contents(ask: Ask, page: Dashboard, span: Span, window: str) -> dict[str, Content]:
    """What is to be drawn of each panel, by its title."""
    chosen = choices(ask, page, window)
    return {panel.title: _content(ask, panel, span, chosen, window) for panel in page.panels}


def _content(ask: Ask, panel: Panel, span: Span, chosen: dict[str, str], window: str) -> Content:
    asked = [(query.legend, filled(query.expression, chosen, window)) for query in panel.queries]
    if panel.kind == "table":
        [(_, expression)] = asked
        found = ask("query", query=expression, time=str(span.end))["result"]
        return Content(rows=tuple(_row(panel, each) for each in found))
    ends = {"start": str(span.start), "end": str(span.end), "step": f"{span.step:.3f}"}
    lines = [
        _line(legend, series, span)
        for legend, expression in asked
        for series in ask("query_range", query=expression, **ends)["result"]
    ]
    return Content(lines=tuple(line for line in lines if line.values))


def _row(panel: Panel, series: Mapping[str, Any]) -> tuple[str, ...]:
    known = {**series["metric"], "Value": series["value"][1]}
    return tuple(known[column] for column in panel.columns)


def _line(legend: str, series: Mapping[str, Any], span: Span) -> Line:
    points = [((time - span.start) / 60, float(value)) for time, value in series["values"]]
    kept = [(minute, value) for minute, value in points if math.isfinite(value)]
    name = re.sub(r"\{\{(\w+)\}\}", lambda found: series["metric"].get(found[1], ""), legend)
    return Line(name, tuple(minute for minute, _ in kept), tuple(value for _, value in kept))
