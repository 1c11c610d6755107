"""Draw the dashboards from a Prometheus: `python -m helm.monitoring.pictures --prometheus URL --to FOLDER`."""

import argparse
import json
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from helm.monitoring.asked import Ask
from helm.monitoring.drawn import Span, contents
from helm.monitoring.pages import DASHBOARDS, ROOT
from helm.monitoring.picture import draw
from helm.monitoring.png import save

PICTURES = ROOT / "docs" / "pictures"
_ASK_S = 30.0


def main() -> None:
    """Write one picture for each dashboard."""
    parser = argparse.ArgumentParser(prog="python -m helm.monitoring.pictures", description=__doc__)
    parser.add_argument("--prometheus", required=True, metavar="URL", help="Where Prometheus answers.")
    parser.add_argument("--to", type=Path, default=PICTURES, metavar="FOLDER", help="Gets the pictures (%(default)s).")
    parser.add_argument("--minutes", type=float, default=60, help="How far back they go (%(default)s).")
    parser.add_argument("--window", default="5m", help="In place of $__rate_interval (%(default)s).")
    options = parser.parse_args()
    now = time.time()
    for path in write(_ask_of(options.prometheus), Span(now - options.minutes * 60, now), options.window, options.to):
        print(path)


def write(ask: Ask, span: Span, window: str, folder: Path) -> list[Path]:
    """Draw each dashboard into a folder; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{page.name}.png" for page in DASHBOARDS]
    for page, path in zip(DASHBOARDS, paths, strict=True):
        save(draw(page, contents(ask, page, span, window)), page.titles, path)
    return paths


def _ask_of(url: str) -> Ask:
    def ask(path: str, **parameters: str) -> Any:
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{url.rstrip('/')}/api/v1/{path}?{query}", timeout=_ASK_S) as answer:  # noqa: S310
            return json.load(answer)["data"]

    return ask


if __name__ == "__main__":
    main()
