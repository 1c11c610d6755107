"""Dashboards as Grafana asks for them: variables chosen, expressions filled in. Knows no metric and no network.

`Ask` is the HTTP API of a Prometheus: a path below `/api/v1` and parameters, answered with `data`.
"""

from collections.abc import Callable
from typing import Any

from helm.monitoring.dashboard import Dashboard, Variable

Ask = Callable[..., Any]


def filled(expression: str, chosen: dict[str, str], window: str) -> str:
    """An expression as Grafana sends it.

    Args:
        expression: of a panel or a variable.
        chosen: the value of each variable, as a regular expression.
        window: for `$__rate_interval`: at least two scrapes.

    Raises:
        ValueError: a variable has no value.
    """
    for name, value in {"__rate_interval": window, **chosen}.items():
        expression = expression.replace(f"${name}", value)
    if "$" in expression:
        raise ValueError(f"a variable has no value: {expression}")
    return expression


def choices(ask: Ask, page: Dashboard, window: str) -> dict[str, str]:
    """All values of each variable, as a multiple choice is sent.

    Raises:
        ValueError: a variable offers nothing: no pod that the page is about was scraped.
    """
    chosen: dict[str, str] = {}
    for variable in page.variables:
        chosen[variable.name] = "|".join(_values(ask, variable, chosen, window))
        if not chosen[variable.name]:
            raise ValueError(f"{page.title}: {variable.name} offers nothing")
    return chosen


def _values(ask: Ask, variable: Variable, known: dict[str, str], window: str) -> list[str]:
    """What a variable offers, once those before it are chosen."""
    found: list[str] = ask(f"label/{variable.label}/values", **{"match[]": filled(variable.series, known, window)})
    return found
