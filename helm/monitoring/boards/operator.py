"""Operator: visits to models, writes, calls to the API server, watches; and downloads of models."""

from helm.monitoring.boards.process import process_row
from helm.monitoring.dashboard import Dashboard, Row, Variable
from helm.monitoring.panel import Panel, stat
from helm.monitoring.query import OPERATORS, Query, Scope

_P = "trellis_operator_"
_F = "trellis_fetch_"
_VISITS = f"{_P}reconcile_seconds"
_CALLS = f"{_P}api_call_seconds"
_FETCHES = Scope("")
"""A download runs in the model's namespace, or by hand on any machine: all of them are shown."""

_NUMBERS = Row(
    "Now",
    (
        stat("Models", "That the leader knows.", f"max({OPERATORS.series(f'{_P}models')})"),
        stat(
            "Leaders",
            "More or less than one, for longer than a Lease: see the runbook.",
            OPERATORS.total(f"{_P}is_leader"),
        ),
        stat("Waiting", "Models that wait for a visit now.", OPERATORS.total(f"{_P}queue_depth"), limits=(50, 200)),
        stat("Visits", "Per second.", OPERATORS.rate(f"{_VISITS}_count")),
        stat(
            "Visits that failed",
            "Share that ended with `failed` or `away`.",
            OPERATORS.share(f"{_VISITS}_count", 'outcome=~"failed|away"'),
            "percentunit",
            (0.01, 0.5),
        ),
        stat(
            "Writes",
            "To children of models, per second. At rest there are none.",
            OPERATORS.rate(f"{_P}plan_actions_total"),
        ),
    ),
)

_WORK = Row(
    "Visits to models",
    (
        Panel(
            "By outcome",
            "Converged: nothing to do; refused: the API server did not take a value; failed: a fault, see the log.",
            (Query(OPERATORS.rate(f"{_VISITS}_count", by="outcome"), "{{outcome}}"),),
            stacked=True,
        ),
        Panel(
            "Models by condition",
            "Accepted or SourceReady not True for long: a Secret, a key, a token, or a certificate on the way.",
            (Query(f"max by (type, status) ({OPERATORS.series(f'{_P}conditions')}) > 0", "{{type}}: {{status}}"),),
        ),
        Panel(
            "Models that do not serve",
            "They are asked to, and manifest and source are well: no room, or pods that end or do not begin.",
            (Query(f"max({OPERATORS.series(f'{_P}unserved_models')})", "models"),),
        ),
        Panel("Duration", "Of a visit.", OPERATORS.quantiles(f"{_VISITS}"), "s"),
        Panel(
            "Writes by kind",
            "What plans said. Steady writes of one kind: somebody else changes it too.",
            (Query(OPERATORS.rate(f"{_P}plan_actions_total", by="kind, verb"), "{{verb}} {{kind}}"),),
        ),
    ),
)

_SERVER = Row(
    "API server",
    (
        Panel(
            "Calls",
            "By method and resource; the look at which kinds are served is left out.",
            (
                Query(
                    OPERATORS.rate(f"{_CALLS}_count", 'resource!=""', by="method, resource"), "{{method}} {{resource}}"
                ),
            ),
            "reqps",
        ),
        Panel(
            "Calls by answer",
            "`away`: no answer, or none that can be read. 409 and 404 are part of the work.",
            (Query(OPERATORS.rate(f"{_CALLS}_count", by="outcome"), "{{outcome}}"),),
            "reqps",
        ),
        Panel(
            "Time of a call",
            "99th percentile, by method.",
            (Query(OPERATORS.quantile(0.99, _CALLS, by="method"), "{{method}}"),),
            "s",
        ),
        Panel(
            "Watches begun again",
            "`relist` is well and rare; the rest are failures.",
            (Query(OPERATORS.rate(f"{_P}watch_restarts_total", by="kind, why"), "{{kind}}: {{why}}"),),
        ),
    ),
)

_DOWNLOADS = Row(
    "Downloads of models",
    (
        Panel(
            "How far",
            "Share of the model that is here.",
            (
                Query(
                    f"{_FETCHES.series(f'{_F}present_bytes')} / {_FETCHES.series(f'{_F}total_bytes')}",
                    "{{namespace}}/{{pod}}",
                ),
            ),
            "percentunit",
            highest=1,
        ),
        Panel(
            "Bytes received",
            "By this run; flat for minutes: stalled.",
            (Query(_FETCHES.series(f"{_F}received_bytes"), "{{namespace}}/{{pod}}"),),
            "bytes",
        ),
        Panel(
            "Attempts that failed",
            "And were made again, by reason.",
            (Query(f"sum by (reason) ({_FETCHES.series(f'{_F}failed_attempts_total')})", "{{reason}}"),),
        ),
    ),
)

OPERATOR = Dashboard(
    "operator",
    "Trellis / Operator",
    "Visits to models, writes, calls to the API server, and downloads.",
    (
        Variable("namespace", "namespace", f"{_P}models"),
        Variable("replica", "pod", f'{_P}models{{namespace=~"$namespace"}}'),
    ),
    (_NUMBERS, _WORK, _SERVER, _DOWNLOADS, process_row(OPERATORS, f"{_P}models")),
)
