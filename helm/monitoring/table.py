"""The table of metrics for the documentation: every family that the programs export, and where it is shown."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from helm.monitoring.dashboard import Dashboard
from helm.monitoring.exported import Family
from helm.monitoring.unshown import UNSHOWN

_HEAD = """\
# Metrics

<!-- Written by `make dashboards` from the code: change that, not this. -->

Every family is there from the start of its program, with all label values that are known then at zero, so that the
first failure is a change and not a new series. No label value comes from a caller: 10,000 made-up model names, paths
and keys make no new series. Histograms are classic ones: the client library has no native histograms.

A model's pods are scraped through its PodMonitor, which gives each series the label `embedding_model`, the name of the
EmbeddingModel; `namespace` and `pod` come from Prometheus. Where you scrape by other means, set these three labels: the
dashboards (`helm/trellis/dashboards`, in the chart with `dashboards.enabled`) and the alerts
(`helm/trellis/rules`, with `prometheusRule.enabled`; [runbooks](runbooks)) go by them.

`le` is left out below. The `endpoints`, `endpoints_connected`, `relists`, `sync_age_seconds`, `watch_restarts` and
`peer` families of a gateway are there where it reads its engines from a cluster, those with `peer` say something once
there are more engines than it holds. `trellis_gateway_endpoint_` series come and go with engines, whose address is the
label `engine`, and `trellis_engine_graph_` families stay at zero on a CPU.
"""
_TITLES = {
    "gateway": "Gateway, on its HTTP port",
    "engine": "Engine, port 9101",
    "operator": "Operator, port 9100",
    "fetch": "Download, port 9101 of its Job; by hand with `--metrics-listen HOST:PORT`",
}


def table(families: Iterable[Family], dashboards: Sequence[Dashboard]) -> str:
    """The page, as Markdown."""
    sections = [_HEAD]
    for program, group in groupby(families, key=lambda family: family.program):
        head = f"## {_TITLES[program]}\n\n| name | kind | labels | what it says | shown |\n|---|---|---|---|---|\n"
        sections.append(head + "".join(f"{_row(family, dashboards)}\n" for family in group))
    return "\n".join(sections)


def shown_on(family: Family, dashboards: Iterable[Dashboard]) -> list[str]:
    """Titles of the dashboards that have it in a panel."""
    uses = re.compile(rf"\b{family.name}(_bucket|_sum|_count)?\b")
    return [
        page.title.removeprefix("Trellis / ")
        for page in dashboards
        if any(uses.search(query.expression) for panel in page.panels for query in panel.queries)
    ]


def _row(family: Family, dashboards: Sequence[Dashboard]) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    shown = ", ".join(shown_on(family, dashboards)) or f"no: {UNSHOWN[family.name]}"
    text = family.text if family.text.endswith(".") else f"{family.text}."
    return f"| `{family.name}` | {family.kind} | {labels} | {text} | {shown} |"
