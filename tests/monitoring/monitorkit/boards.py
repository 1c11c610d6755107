"""What a real Prometheus answers to panels."""

import math
from collections.abc import Iterator

from e2ekit.prometheus import Prometheus

from helm.monitoring import asked
from helm.monitoring.dashboard import Dashboard

WINDOW = "20s"
MOST_PICTURE_BYTES = 250_000


def choices(prometheus: Prometheus, page: Dashboard) -> dict[str, str]:
    """All values of each variable of a page."""
    return asked.choices(prometheus.ask, page, WINDOW)


def filled(expression: str, chosen: dict[str, str]) -> str:
    """An expression as Grafana sends it."""
    return asked.filled(expression, chosen, WINDOW)


def finite(prometheus: Prometheus, expression: str) -> Iterator[float]:
    """The numbers of a query's series that are some."""
    for series in prometheus.query(expression):
        value = float(series["value"][1])
        if math.isfinite(value):
            yield value
