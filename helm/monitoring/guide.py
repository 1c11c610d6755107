"""docs/dashboards.md: each dashboard with its picture, where to look first, and what every panel says."""

from collections.abc import Iterable

from helm.monitoring.dashboard import Dashboard, Row

_HEAD = """\
# Dashboards

<!-- Written by `make dashboards` from helm/monitoring: change that, not this. -->

Four Grafana dashboards come with the chart (`dashboards.enabled`). The pictures are drawn from the data of a real
Prometheus that scraped a gateway, an engine, an operator and a stalled download for two and a half minutes, under a
mixed load with some wrong requests, on two busy cores: `make pictures` makes that run and draws them again. Of a
Prometheus of your own:

```sh
python -m helm.monitoring.pictures --prometheus http://localhost:9090 --to /tmp/pictures --minutes 60
```

What fires, and what to do then: [runbooks](runbooks). Every metric: [metrics.md](metrics.md).
"""

_FIRST = {
    "overview": """\
1. The numbers: is `Failed` or `Refused` coloured? Then `Answers by status` says which: 503 is no engine, 504 is too
   late, 500 is an engine's fault, 429 is no room.
2. `Time to an answer`: one size alone is slow: long texts. All are slow: go on to
3. `Where the time goes`: the band that grew is the part that is slow. `queue`: too few engines. `forward`: the device,
   or longer texts. `parse` or `tokenize`: too few gateways.
4. `Engines that are ready`: fewer than there should be? Then the Engine dashboard, and `kubectl get pods`.""",
    "gateway": """\
1. `Requests by size` and the stages: what callers send, and which stage is slow at the 99th percentile.
2. `Admission`: a flat `Tokens in flight` is the bound; what is refused has a reason beside it.
3. `Balancing`: engines should have like shares. One that lies far from the others is slow, or was left out.
4. `How well the set of engines is known`: seconds are well; minutes mean that the API server is away.""",
    "engine": """\
1. `Queue`: does something wait, and for how long? `Refused calls` are the end of it.
2. `Device busy` near 1 with a queue: the device is what is short. Far below 1 with a queue: something else is.
3. `Speed of the device` fell: other work on the node, or other lengths of texts.
4. `Failures`: all of these should be flat at zero.""",
    "operator": """\
1. `Leaders` is 1, `Waiting` is near 0, `Visits that failed` is 0: nothing is to be done here.
2. `Writes by kind` goes on at rest: somebody else writes the same objects.
3. `Calls by answer` says `away`, 403 or 5xx: the API server, or a right that is missing.
4. `Downloads`: a line that is flat below 100 % has stalled; the reason is beside it.""",
}


def guide(pages: Iterable[Dashboard]) -> str:
    """The page, as Markdown."""
    return "\n".join([_HEAD, *(_section(page) for page in pages)])


def _section(page: Dashboard) -> str:
    name = page.title.removeprefix("Trellis / ")
    parts = [
        f"## {name}",
        page.tells,
        f"![The {name} dashboard](pictures/{page.name}.png)",
        f"In a minute:\n\n{_FIRST[page.name]}",
        *(_row(row) for row in page.rows),
    ]
    return "\n\n".join(parts) + "\n"


def _row(row: Row) -> str:
    lines = "\n".join(f"| {panel.title} | {panel.tells} |" for panel in row.panels)
    return f"| {row.title} | what it says |\n|---|---|\n{lines}"
