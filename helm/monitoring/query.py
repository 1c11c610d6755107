"""`Scope` and `Query`: PromQL as the panels need it. Knows no panel and no Grafana, but for its `$` variables."""

from dataclasses import dataclass

WINDOW = "$__rate_interval"
"""Grafana's: always wide enough for two scrapes."""
WORK = 'route!~"/healthz|/readyz|/metrics"'
"""Requests of callers; the rest are probes and scrapes."""


@dataclass(frozen=True)
class Query:
    """One expression of a panel, and what its series are called."""

    expression: str
    legend: str = ""


@dataclass(frozen=True)
class Scope:
    """Which pods a dashboard speaks of.

    Attributes:
        matchers: between braces in every selector.
    """

    matchers: str

    def series(self, name: str, *more: str) -> str:
        """The series of a family within the scope."""
        return f"{name}{{{','.join((self.matchers, *more))}}}"

    def rate(self, name: str, *more: str, by: str = "") -> str:
        """Per second, summed over all pods, or by labels."""
        return f"{_sum(by)} (rate({self.series(name, *more)}[{WINDOW}]))"

    def total(self, name: str, *more: str, by: str = "") -> str:
        """A gauge, summed over all pods, or by labels."""
        return f"{_sum(by)} ({self.series(name, *more)})"

    def quantile(self, share: float, name: str, *more: str, by: str = "") -> str:
        """A quantile of a histogram over all pods, or by labels."""
        labels = ", ".join(filter(None, ("le", by)))
        return f"histogram_quantile({share}, {self.rate(f'{name}_bucket', *more, by=labels)})"

    def mean(self, name: str, *more: str, by: str = "") -> str:
        """The mean of what a histogram observed."""
        return f"{self.rate(f'{name}_sum', *more, by=by)} / {self.rate(f'{name}_count', *more, by=by)}"

    def share(self, name: str, part: str, *more: str) -> str:
        """What part of a counter's rate has the matcher `part`."""
        return f"{self.rate(name, part, *more)} / {self.rate(name, *more)}"

    def quantiles(self, name: str, *more: str, by: str = "", label: str = "") -> tuple[Query, ...]:
        """Median, 95th and 99th percentile; `label` stands before each."""
        return tuple(
            Query(self.quantile(share, name, *more, by=by), f"{label}p{share * 100:.0f}") for share in (0.5, 0.95, 0.99)
        )


def _sum(by: str) -> str:
    return f"sum by ({by})" if by else "sum"


PODS = Scope('namespace=~"$namespace",embedding_model=~"$model",pod=~"$replica"')
"""Gateways and engines of the models that were chosen."""
FLEET = Scope('namespace=~"$namespace",embedding_model=~"$model"')
"""The same, whichever replica."""
OPERATORS = Scope('namespace=~"$namespace",pod=~"$replica"')
