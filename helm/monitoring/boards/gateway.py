"""Gateway: requests, stages, admission, balancing over engines, and how well the set of engines is known."""

from helm.monitoring.boards.process import process_row
from helm.monitoring.dashboard import Dashboard, Row, pods
from helm.monitoring.panel import Panel, stat
from helm.monitoring.query import PODS, WORK, Query

_P = "trellis_gateway_"
_REQUESTS = f"{_P}requests_total"

_NUMBERS = Row(
    "Now",
    (
        stat("Requests", "Of callers, without probes.", PODS.rate(_REQUESTS, WORK), "reqps"),
        stat("Under way", "Requests being answered, and probes.", PODS.total(f"{_P}requests_in_flight")),
        stat("Inputs", "Embedded or scored.", PODS.rate(f"{_P}inputs_total")),
        stat("Tokens", "Special ones included.", PODS.rate(f"{_P}tokens_total")),
        stat(
            "Hung up",
            "Requests a second whose caller did not wait.",
            PODS.rate(f"{_P}cancelled_requests_total"),
            "reqps",
        ),
        stat(
            "Slow tokenizers",
            "Gateways whose compiled tokenizer cannot be used for this model: the library's is slower.",
            PODS.total(f"{_P}tokenizer_fallback"),
        ),
    ),
)

_REQUEST_ROW = Row(
    "Requests",
    (
        Panel(
            "By route",
            "Callers' requests; `other` is a path that nobody serves.",
            (Query(PODS.rate(_REQUESTS, WORK, by="route"), "{{route}}"),),
            "reqps",
        ),
        Panel(
            "Errors by status",
            "4xx are callers' mistakes, but for 429; 5xx are ours.",
            (Query(PODS.rate(_REQUESTS, WORK, 'status!="200"', by="status"), "{{status}}"),),
            "reqps",
        ),
        Panel(
            "Probes and scrapes",
            "Falls to nothing where a kubelet or Prometheus cannot reach the pod.",
            (Query(PODS.rate(_REQUESTS, WORK.replace("!~", "=~"), by="route"), "{{route}}"),),
            "reqps",
        ),
        Panel(
            "Stages, 99th percentile",
            "Parse, tokenize and render are the gateway's, and hold is its wait where there is no engine; queue to "
            "settle are the engine's; total is all of it.",
            (Query(PODS.quantile(0.99, f"{_P}stage_seconds", by="stage"), "{{stage}}"),),
            "s",
        ),
        Panel("Time to an answer", "All sizes together, without hold.", PODS.quantiles(f"{_P}request_seconds"), "s"),
        Panel(
            "Requests by size",
            "By the most tokens of their class, answered as they should be.",
            (Query(PODS.rate(f"{_P}request_seconds_count", by="max_tokens"), "to {{max_tokens}}"),),
            "reqps",
            stacked=True,
        ),
    ),
)

_ADMISSION = Row(
    "Admission",
    (
        Panel(
            "Tokens in flight",
            "Accepted and not answered. Flat at the bound: requests are refused.",
            (Query(PODS.total(f"{_P}in_flight_tokens", by="pod"), "{{pod}}"),),
        ),
        Panel(
            "Bytes held",
            "Bodies of requests under way.",
            (Query(PODS.total(f"{_P}in_flight_body_bytes", by="pod"), "{{pod}}"),),
            "bytes",
        ),
        Panel(
            "Refused for lack of room",
            "By what there was none of: tokens (more engines help) or bytes (more gateways help).",
            (Query(PODS.rate(f"{_P}rejections_total", by="room"), "{{room}}"),),
            "reqps",
        ),
    ),
)

_ASLEEP = Row(
    "While there is no engine",
    (
        Panel(
            "Tokens held",
            "By gateway. More than none where engines are scaled from zero: one is on its way.",
            (Query(PODS.total(f"{_P}held_tokens", by="pod"), "{{pod}}"),),
        ),
        Panel(
            "Requests held",
            "Now, and gateways that would hold one if it came.",
            (
                Query(PODS.total(f"{_P}held_requests"), "held"),
                Query(PODS.total(f"{_P}asleep"), "gateways asleep"),
            ),
        ),
        Panel(
            "How it ended",
            "`expired` and `refused`: the engine took too long, or too many waited.",
            (Query(PODS.rate(f"{_P}held_requests_ended_total", by="outcome"), "{{outcome}}"),),
            "reqps",
        ),
    ),
)

_BALANCING = Row(
    "Balancing over engines",
    (
        Panel(
            "Engines that answer",
            "As each gateway sees them.",
            (Query(PODS.total(f"{_P}endpoint_up", by="pod"), "{{pod}}"),),
        ),
        Panel(
            "Tokens sent and not answered",
            "By engine. One much above the others: it is slow.",
            (Query(PODS.total(f"{_P}endpoint_outstanding_tokens", by="engine"), "{{engine}}"),),
        ),
        Panel(
            "Tokens answered",
            "By engine. One without a share: it was ejected, or is not reached.",
            (Query(PODS.rate(f"{_P}endpoint_tokens_total", by="engine"), "{{engine}}"),),
        ),
        Panel(
            "Engines left out",
            "Ejections after failures, by engine.",
            (Query(PODS.rate(f"{_P}ejections_total", by="engine"), "{{engine}}"),),
        ),
        Panel(
            "Failed calls",
            "By gRPC code. UNAVAILABLE: an engine starts, drains or is gone; RESOURCE_EXHAUSTED: its queue is full.",
            (Query(PODS.rate(f"{_P}engine_errors_total", by="code"), "{{code}}"),),
        ),
        Panel(
            "Calls asked again",
            "On another engine; refused ones found the retry budget empty, which stops a storm.",
            (
                Query(PODS.rate(f"{_P}retries_total"), "asked again"),
                Query(PODS.rate(f"{_P}retries_refused_total"), "refused"),
            ),
        ),
    ),
)

_TRACES = Row(
    "Traces",
    (
        Panel(
            "Spans by what became of them",
            "queue_full: the collector does not keep up; export_failed: it is away or refuses. 0: nothing is traced.",
            (Query(PODS.rate(f"{_P}spans_total", by="outcome"), "{{outcome}}"),),
        ),
    ),
)

_DISCOVERY = Row(
    "How well the set of engines is known",
    (
        Panel(
            "Engines by what the cluster says",
            "As one gateway sees them at most.",
            (Query(f"max by (state) ({PODS.series(f'{_P}endpoints')})", "{{state}}"),),
        ),
        Panel(
            "Since the API server said something",
            "Grows while it is away; the last known engines go on serving.",
            (
                Query(f"max by (pod) ({PODS.series(f'{_P}sync_age_seconds')})", "{{pod}}"),
                Query(f"max by (pod) ({PODS.series(f'{_P}peer_sync_age_seconds')})", "of gateways, {{pod}}"),
            ),
            "s",
            limits=(300, 600),
        ),
        Panel(
            "Watches and full lists",
            "`due` and `ended` are well; the rest are failures.",
            (
                Query(PODS.rate(f"{_P}watch_restarts_total", by="reason"), "watch: {{reason}}"),
                Query(PODS.rate(f"{_P}relists_total", by="outcome"), "list: {{outcome}}"),
            ),
        ),
        Panel(
            "Engines held",
            "To which each gateway has a connection: a part of those known, where these are more than its bound.",
            (Query(PODS.total(f"{_P}endpoints_connected", by="pod"), "{{pod}}"),),
        ),
        Panel(
            "Gateways by what the cluster says",
            "As one of them sees them at most; read as soon as there are more engines than one is to hold.",
            (Query(f"max by (state) ({PODS.series(f'{_P}peers')})", "{{state}}"),),
        ),
        Panel(
            "Watches and full lists of gateways",
            "`due` and `ended` are well; the rest are failures.",
            (
                Query(PODS.rate(f"{_P}peer_watch_restarts_total", by="reason"), "watch: {{reason}}"),
                Query(PODS.rate(f"{_P}peer_relists_total", by="outcome"), "list: {{outcome}}"),
            ),
        ),
        Panel(
            "Why the library tokenizes",
            "1: the compiled tokenizer cannot serve this model, for that reason.",
            (Query(f"max by (reason) ({PODS.series(f'{_P}tokenizer_fallback')})", "{{reason}}"),),
        ),
    ),
)

GATEWAY = Dashboard(
    "gateway",
    "Trellis / Gateway",
    "Requests, their stages, admission, and balancing over engines.",
    pods(f"{_P}requests_in_flight"),
    (
        *(_NUMBERS, _REQUEST_ROW, _ADMISSION, _ASLEEP, _BALANCING, _DISCOVERY, _TRACES),
        process_row(PODS, f"{_P}requests_in_flight"),
    ),
)
