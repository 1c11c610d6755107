"""Overview: is it well, and if not, which part is slow and why. One page for whoever is on call."""

from helm.monitoring.dashboard import Dashboard, Row, Variable
from helm.monitoring.panel import Panel, stat
from helm.monitoring.query import FLEET, WORK, Query

_MODEL = "namespace, embedding_model"
_NAME = "{{namespace}}/{{embedding_model}}"
_REQUESTS = "trellis_gateway_requests_total"
_TIMES = "trellis_gateway_stage_seconds"

_NUMBERS = Row(
    "Now",
    (
        stat("Requests", "Of callers, without probes.", FLEET.rate(_REQUESTS, WORK), "reqps"),
        stat(
            "Failed",
            "Share of requests answered with 5xx. The objective is at most 0.1 %.",
            FLEET.share(_REQUESTS, 'status=~"5.."', WORK),
            "percentunit",
            (0.001, 0.01),
        ),
        stat(
            "Refused",
            "Share of requests answered with 429: there was no room. More engines help.",
            FLEET.share(_REQUESTS, 'status="429"', WORK),
            "percentunit",
            (0.01, 0.05),
        ),
        stat(
            "p99 of small requests",
            "Of at most 512 tokens, answered as they should be.",
            FLEET.quantile(0.99, "trellis_gateway_request_seconds", 'max_tokens="512"'),
            "s",
            (0.5, 1.0),
        ),
        stat(
            "Tokens",
            "Embedded or scored by gateways' count, special ones included.",
            FLEET.rate("trellis_gateway_tokens_total"),
        ),
        stat(
            "Time to empty the queue",
            "Tokens that wait, by the tokens that engines took a second.",
            f"{FLEET.total('trellis_engine_queued_tokens')} / {FLEET.rate('trellis_engine_tokens_total')}",
            "s",
            (5, 30),
        ),
    ),
)

_ANSWERS = Row(
    "What callers see",
    (
        Panel(
            "Answers by status",
            "2xx is well; 429: no room; 503: no engine is ready; 504: too late; 500: an engine failed.",
            (Query(FLEET.rate(_REQUESTS, WORK, by="status"), "{{status}}"),),
            "reqps",
            stacked=True,
        ),
        Panel(
            "Time to an answer",
            "Of requests answered as they should be, by size. One class slow alone: long texts. All slow: the queue.",
            tuple(
                Query(
                    FLEET.quantile(0.99, "trellis_gateway_request_seconds", f'max_tokens="{most}"'),
                    f"p99, {said}",
                )
                for most, said in (("512", "to 512 tokens"), ("8192", "to 8192 tokens"), ("any", "more tokens"))
            ),
            "s",
        ),
        Panel(
            "Where the time goes",
            "Mean seconds of a request in each stage. Queue grows: too few engines. Forward grows: long texts, or a "
            "slow device. Tokenize or parse grows: too few gateways. Hold: no engine was there, as if scaled to zero.",
            (Query(FLEET.mean(_TIMES, 'stage!="total"', by="stage"), "{{stage}}"),),
            "s",
            stacked=True,
        ),
    ),
)

_FLEET = Row(
    "Models and their engines",
    (
        Panel(
            "Engines that are ready",
            "None: every request gets 503, or waits where it scales from zero.",
            (Query(FLEET.total("trellis_engine_up", by=_MODEL), _NAME),),
        ),
        Panel(
            "Tokens that wait",
            "In the queues of all engines of a model.",
            (Query(FLEET.total("trellis_engine_queued_tokens", by=_MODEL), _NAME),),
        ),
        Panel(
            "Tokens embedded",
            "Handed to devices, per second.",
            (Query(FLEET.rate("trellis_engine_tokens_total", by=_MODEL), _NAME),),
        ),
        Panel(
            "Models served",
            "Two digests of one model outside of a rollout: see the runbook of TrellisMixedDigests.",
            (
                Query(
                    f"count by (namespace, embedding_model, model_digest, architecture, dtype, device, "
                    f"attention_backend) ({FLEET.series('trellis_engine_info')} == 1)"
                ),
            ),
            kind="table",
            width=24,
            columns=(
                *("namespace", "embedding_model", "model_digest", "architecture", "dtype", "device"),
                *("attention_backend", "Value"),
            ),
        ),
    ),
)

OVERVIEW = Dashboard(
    "overview",
    "Trellis / Overview",
    "Is it well, and if not, which part is slow and why.",
    (
        Variable("namespace", "namespace", "trellis_gateway_requests_in_flight"),
        Variable("model", "embedding_model", 'trellis_gateway_requests_in_flight{namespace=~"$namespace"}'),
    ),
    (_NUMBERS, _ANSWERS, _FLEET),
)
