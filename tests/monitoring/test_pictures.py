"""The dashboards as pictures: drawn from a real run, whole, small, and shown by the page that explains them."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from monitorkit.boards import MOST_PICTURE_BYTES

from helm.monitoring.dashboard import Dashboard
from helm.monitoring.drawn import Content, Line
from helm.monitoring.pages import DASHBOARDS, ROOT
from helm.monitoring.picture import NOTHING, draw
from helm.monitoring.pictures import PICTURES
from helm.monitoring.png import save, saved_titles
from helm.monitoring.units import shown

PAGES = pytest.mark.parametrize("page", DASHBOARDS, ids=lambda page: page.name)


def texts(figure: Figure) -> list[str]:
    """All that a picture says, but for scales and names of lines."""
    inside = [text.get_text() for axes in figure.axes for text in (*axes.texts, axes.title, axes._left_title)]
    return [*inside, *(text.get_text() for text in figure.texts)]


def flat(page: Dashboard, value: float) -> dict[str, Content]:
    """The same number everywhere."""
    line = Line("one", (0.0, 1.0), (value, value))
    rows = {panel.title: (tuple("x" for _ in panel.columns),) for panel in page.panels if panel.columns}
    return {panel.title: Content((line,), rows.get(panel.title, ())) for panel in page.panels}


@PAGES
def test_a_picture_has_every_row_and_every_panel_within_its_edges(page: Dashboard) -> None:
    figure = draw(page, flat(page, 0.5))
    said = texts(figure)
    assert {panel.title for panel in page.panels} | {row.title for row in page.rows} <= set(said)
    assert NOTHING not in said
    for axes in figure.axes:
        box = axes.get_position()
        assert 0 <= box.x0 < box.x1 <= 1, axes.get_label()
        assert 0 <= box.y0 < box.y1 <= 1, axes.get_label()


@PAGES
def test_the_picture_that_is_shown_was_drawn_with_the_panels_of_now(page: Dashboard) -> None:
    """Else `make pictures`."""
    assert saved_titles(PICTURES / f"{page.name}.png") == page.titles


def test_a_picture_says_which_panels_it_has(tmp_path: Path) -> None:
    page = DASHBOARDS[0]
    shown = [title for title in texts(draw(page, flat(page, 0.5))) if title in page.titles]
    assert sorted(page.titles) == sorted(shown)
    save(Figure(figsize=(1, 1)), page.titles[1:], tmp_path / "fewer.png")
    assert saved_titles(tmp_path / "fewer.png") == page.titles[1:]


@PAGES
def test_a_panel_without_data_says_so(page: Dashboard) -> None:
    figure = draw(page, {panel.title: Content() for panel in page.panels})
    tables = sum(panel.kind == "table" for panel in page.panels)
    assert texts(figure).count(NOTHING) == len(page.panels) - tables


def test_a_number_beyond_a_limit_has_another_colour() -> None:
    [page] = [each for each in DASHBOARDS if each.name == "overview"]
    colours = {
        value: next(axes for axes in draw(page, flat(page, value)).axes if axes.get_label() == "Failed")
        .texts[0]
        .get_color()
        for value in (0.0, 0.005, 0.5)
    }
    assert len(set(colours.values())) == 3


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0123, "s", "12.3 ms"),
        (90, "s", "1.5 min"),
        (0, "s", "0 s"),
        (0.5, "percentunit", "50 %"),
        (1536, "bytes", "1.5 KiB"),
        (12_345, "short", "12.3 k"),
        (2, "reqps", "2/s"),
    ],
)
def test_numbers_are_shown_as_people_read_them(value: float, unit: str, text: str) -> None:
    assert shown(value, unit) == text


def test_the_page_shows_a_small_picture_of_each_dashboard_and_no_other_lies_there() -> None:
    text = (ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")
    assert {path.stem for path in PICTURES.iterdir()} == {page.name for page in DASHBOARDS}
    for page in DASHBOARDS:
        path = PICTURES / f"{page.name}.png"
        assert f"({path.relative_to(ROOT / 'docs')})" in text
        assert path.stat().st_size <= MOST_PICTURE_BYTES
