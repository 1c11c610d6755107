"""Dashboards as pictures, drawn with matplotlib as Grafana lays them out. Knows no Prometheus."""

from collections.abc import Iterator, Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from helm.monitoring.dashboard import Dashboard
from helm.monitoring.drawn import Content
from helm.monitoring.panel import Panel
from helm.monitoring.units import shown

NOTHING = "no data"
_COLUMN_IN, _ROW_IN = 0.58, 0.3
_COLUMNS = 24
_GREY, _INK = "#d8dee6", "#24292f"
_COLOURS = ("#2e7d32", "#f9a825", "#c62828")
"""Below the first limit, above it, above the second."""
_SMALL, _NORMAL, _LARGE = 7, 8, 15
_MOST_NAMES = 8


def draw(page: Dashboard, contents: Mapping[str, Content]) -> Figure:
    """One page.

    Args:
        page: the dashboard.
        contents: what each panel shows, by its title.
    """
    places = list(_places(page))
    rows = max(y + height for _, _, y, _, height in places)
    figure = Figure(figsize=(_COLUMNS * _COLUMN_IN, rows * _ROW_IN), dpi=100)
    for item, x, y, width, height in places:
        box = (x / _COLUMNS, 1 - (y + height) / rows, width / _COLUMNS, height / rows)
        if isinstance(item, str):
            figure.text(0.008, box[1] + box[3] * 0.3, item, fontsize=10, fontweight="bold", color=_INK)
        else:
            _panel(figure, item, contents[item.title], _inner(box, rows, item))
    return figure


def _places(page: Dashboard) -> Iterator[tuple[Panel | str, int, int, int, int]]:
    """Headings and panels with their place in Grafana's grid."""
    panels = iter(page.panels)
    for each in page.json()["panels"]:
        place = each["gridPos"]
        item = each["title"] if each["type"] == "row" else next(panels)
        yield item, place["x"], place["y"], place["w"], place["h"]


def _inner(box: tuple[float, float, float, float], rows: int, panel: Panel) -> tuple[float, float, float, float]:
    """The part of a panel's box that is drawn in: around it are title, scale and names."""
    left, low, width, height = box
    row, column = 1 / rows, 1 / _COLUMNS
    beside, below = (1.15, 2.0) if panel.kind == "timeseries" else (0.2, 0.2)
    return left + beside * column, low + below * row, width - (beside + 0.25) * column, height - (below + 1.1) * row


def _panel(figure: Figure, panel: Panel, content: Content, box: tuple[float, float, float, float]) -> None:
    axes = figure.add_axes(box, label=panel.title)
    axes.set_title(panel.title, fontsize=_NORMAL, color=_INK, loc="left", pad=3)
    for side in axes.spines.values():
        side.set_color(_GREY)
    {"stat": _stat, "table": _table, "timeseries": _lines}[panel.kind](axes, panel, content)


def _stat(axes: Axes, panel: Panel, content: Content) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    text, colour = NOTHING, _INK
    if content.lines:
        value = content.lines[0].values[-1]
        text = shown(value, panel.unit)
        colour = _COLOURS[sum(value >= limit for limit in panel.limits)] if panel.limits else _INK
    axes.text(0.5, 0.5, text, fontsize=_LARGE, color=colour, ha="center", va="center", transform=axes.transAxes)


def _table(axes: Axes, panel: Panel, content: Content) -> None:
    axes.set_axis_off()
    rows = [[_cut(cell) for cell in row] for row in content.rows] or [[NOTHING, *[""] * (len(panel.columns) - 1)]]
    table = axes.table(rows, colLabels=list(panel.columns), loc="upper center", cellLoc="left", edges="horizontal")
    table.auto_set_font_size(False)
    table.set_fontsize(_SMALL)


def _cut(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:17]}…"


def _lines(axes: Axes, panel: Panel, content: Content) -> None:
    axes.tick_params(labelsize=_SMALL, colors=_INK, length=2, color=_GREY)
    axes.grid(color=_GREY, linewidth=0.5)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: shown(value, panel.unit)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} min"))
    axes.locator_params(axis="y", nbins=5)
    if not content.lines:
        axes.text(0.5, 0.5, NOTHING, fontsize=_NORMAL, ha="center", transform=axes.transAxes)
        return
    _draw_lines(axes, panel, _at_work(content))
    top = max(max(axes.get_ylim()[1], 0) * 1.05, 1e-6) if panel.highest is None else panel.highest
    axes.set_ylim(0, top)
    for limit, colour in zip(panel.limits, _COLOURS[1:], strict=False):
        axes.axhline(limit, color=colour, linewidth=0.8, linestyle="--")
    handles, names = axes.get_legend_handles_labels()
    axes.legend(handles[:_MOST_NAMES], names[:_MOST_NAMES], **_below(len(names)))


def _at_work(content: Content) -> Content:
    """Without the lines that are zero throughout, where others are not: every known label value has one."""
    lines = tuple(line for line in content.lines if any(line.values))
    return Content(lines or content.lines[:_MOST_NAMES])


def _draw_lines(axes: Axes, panel: Panel, content: Content) -> None:
    same = len({line.minutes for line in content.lines}) == 1
    if panel.stacked and same:
        values = [line.values for line in content.lines]
        axes.stackplot(content.lines[0].minutes, values, labels=[line.name for line in content.lines], alpha=0.6)
        return
    for line in content.lines:
        axes.plot(line.minutes, line.values, linewidth=1.1, label=line.name or "all")


def _below(names: int) -> dict[str, Any]:
    """Names under the scale of time."""
    columns = min(names, 4)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.1), "ncols": columns}
    return place | {"fontsize": 6, "frameon": False, "handlelength": 1, "columnspacing": 1}
