"""`Panel`: one picture of a dashboard, and its JSON as Grafana 10 reads it. Knows no metric."""

from dataclasses import dataclass, field
from typing import Any

from helm.monitoring.query import Query

Json = dict[str, Any]

DATASOURCE = {"type": "prometheus", "uid": "$datasource"}
_HEIGHT = {"stat": 4, "timeseries": 8, "table": 6}


@dataclass(frozen=True)
class Panel:
    """One picture.

    Attributes:
        tells: what one sees there and what to think of it; Grafana shows it at the title.
        queries: what is drawn.
        unit: Grafana's name of it: s, short, reqps, bytes, percentunit, none.
        kind: timeseries, stat or table.
        limits: values from which the number is yellow, and red; none: no colours.
        width: of 24 columns.
        stacked: areas that add up.
        columns: of a table, the labels that are shown, in this order.
        highest: of the axis; None where the data decide.
    """

    title: str
    tells: str
    queries: tuple[Query, ...]
    unit: str = "short"
    kind: str = "timeseries"
    limits: tuple[float, ...] = ()
    width: int = 8
    stacked: bool = False
    columns: tuple[str, ...] = field(default=())
    highest: float | None = None

    @property
    def height(self) -> int:
        """In rows of Grafana's grid."""
        return _HEIGHT[self.kind]

    def json(self, number: int, x: int, y: int) -> Json:
        """As Grafana reads it, with its top left corner at column `x`, row `y`."""
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.tells,
            "datasource": DATASOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "targets": [self._target(index, query) for index, query in enumerate(self.queries)],
            "fieldConfig": {"defaults": self._defaults(), "overrides": []},
            "options": self._options(),
            **self._transformations(),
        }

    def _target(self, index: int, query: Query) -> Json:
        target = {
            "refId": chr(ord("A") + index),
            "datasource": DATASOURCE,
            "expr": query.expression,
            "legendFormat": query.legend or "__auto",
        }
        return target | ({"instant": True, "format": "table"} if self.kind == "table" else {})

    def _defaults(self) -> Json:
        colours = zip(("green", "yellow", "red"), (None, *self.limits), strict=False)
        steps = [{"color": colour, "value": value} for colour, value in colours]
        defaults: Json = {"unit": self.unit, "min": 0, "thresholds": {"mode": "absolute", "steps": steps}}
        if self.highest is not None:
            defaults["max"] = self.highest
        if self.kind == "timeseries":
            defaults["custom"] = self._lines()
        return defaults

    def _lines(self) -> Json:
        lines: Json = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 30 if self.stacked else 10,
            "showPoints": "never",
        }
        lines["stacking"] = {"mode": "normal" if self.stacked else "none"}
        lines["thresholdsStyle"] = {"mode": "dashed" if self.limits else "off"}
        return lines

    def _options(self) -> Json:
        if self.kind == "stat":
            colour = "background" if self.limits else "none"
            return {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": colour, "graphMode": "area"}
        if self.kind == "table":
            return {"showHeader": True}
        return {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}}

    def _transformations(self) -> Json:
        if not self.columns:
            return {}
        kept = {"include": {"names": list(self.columns)}}
        order = {"indexByName": {name: index for index, name in enumerate(self.columns)}}
        return {
            "transformations": [{"id": "filterFieldsByName", "options": kept}, {"id": "organize", "options": order}]
        }


def stat(title: str, tells: str, expression: str, unit: str = "short", limits: tuple[float, ...] = ()) -> Panel:
    """One number, at the top of a dashboard."""
    return Panel(title, tells, (Query(expression),), unit, "stat", limits, width=4)
