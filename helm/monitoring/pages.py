"""All dashboards, and the files that are made of them. Writes nothing."""

import json
from pathlib import Path

from helm.monitoring.boards.engine import ENGINE
from helm.monitoring.boards.gateway import GATEWAY
from helm.monitoring.boards.operator import OPERATOR
from helm.monitoring.boards.overview import OVERVIEW
from helm.monitoring.exported import families
from helm.monitoring.guide import guide
from helm.monitoring.table import table

DASHBOARDS = (OVERVIEW, GATEWAY, ENGINE, OPERATOR)
ROOT = Path(__file__).parents[2]


def files() -> dict[Path, str]:
    """What each generated file holds, by its path in the repository."""
    made = {
        Path("helm/trellis/dashboards") / f"{page.name}.json": json.dumps(page.json(), indent=1) + "\n"
        for page in DASHBOARDS
    }
    return made | {
        Path("docs/metrics.md"): table(families(), DASHBOARDS),
        Path("docs/dashboards.md"): guide(DASHBOARDS),
    }
