"""`Dashboard`: rows of panels and the variables that choose pods, as Grafana 10 reads them. Knows no metric."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from helm.monitoring.panel import DATASOURCE, Panel

Json = dict[str, Any]

_COLUMNS = 24


@dataclass(frozen=True)
class Variable:
    """A list at the top of a dashboard: all values of a label of a series."""

    name: str
    label: str
    series: str

    def json(self) -> Json:
        """As Grafana reads it."""
        query = f"label_values({self.series}, {self.label})"
        return {
            "type": "query",
            "name": self.name,
            "label": self.name.capitalize(),
            "datasource": DATASOURCE,
            "query": {"query": query, "refId": "variable"},
            "refresh": 2,
            "sort": 1,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        }


@dataclass(frozen=True)
class Row:
    """Panels under one heading, from left to right and then below."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Dashboard:
    """One page.

    Attributes:
        name: of its file; its address in Grafana is `trellis-NAME`.
    """

    name: str
    title: str
    tells: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All of them."""
        return tuple(panel for row in self.rows for panel in row.panels)

    @property
    def titles(self) -> tuple[str, ...]:
        """Of rows and panels, as they follow each other."""
        return tuple(title for row in self.rows for title in (row.title, *(panel.title for panel in row.panels)))

    def json(self) -> Json:
        """As Grafana reads it."""
        return {
            "uid": f"trellis-{self.name}",
            "title": self.title,
            "description": self.tells,
            "tags": ["trellis"],
            "schemaVersion": 38,
            "version": 1,
            "editable": True,
            "timezone": "",
            "refresh": "30s",
            "time": {"from": "now-1h", "to": "now"},
            "templating": {"list": [_datasource(), *(each.json() for each in self.variables)]},
            "links": [
                {"type": "dashboards", "tags": ["trellis"], "title": "Trellis", "includeVars": True, "keepTime": True}
            ],
            "panels": list(self._laid_out()),
        }

    def _laid_out(self) -> Iterator[Json]:
        number = y = 0
        for row in self.rows:
            number += 1
            yield {
                "id": number,
                "type": "row",
                "title": row.title,
                "collapsed": False,
                "gridPos": {"x": 0, "y": y, "w": _COLUMNS, "h": 1},
                "panels": [],
            }
            y, x, height = y + 1, 0, 0
            for panel in row.panels:
                if x + panel.width > _COLUMNS:
                    x, y, height = 0, y + height, 0
                number += 1
                yield panel.json(number, x, y)
                x, height = x + panel.width, max(height, panel.height)
            y += height


def _datasource() -> Json:
    return {"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus"}


def pods(series: str) -> tuple[Variable, ...]:
    """Namespace, model and replica, of the pods that have `series`."""
    return (
        Variable("namespace", "namespace", series),
        Variable("model", "embedding_model", f'{series}{{namespace=~"$namespace"}}'),
        Variable("replica", "pod", f'{series}{{namespace=~"$namespace",embedding_model=~"$model"}}'),
    )
