"""Situations, as series in promtool's notation, in which an alert must fire, and in which it must not."""

from collections.abc import Mapping
from dataclasses import dataclass

MODEL = 'namespace="s",embedding_model="m"'
POD = f'{MODEL},pod="p"'
OPERATOR = 'namespace="o",pod="p"'
_ROUTE = 'route="/v1/embeddings"'
_FOR_HOURS = "x600"


@dataclass(frozen=True)
class Case:
    """One situation.

    Attributes:
        said: what it is, in words.
        series: values by series, one a minute.
        at: when the alert is looked at.
        fires: what its labels must be, between braces; None: it must not fire.
    """

    alert: str
    said: str
    series: Mapping[str, str]
    at: str
    fires: str | None = None


def requests(**by_status: str) -> dict[str, str]:
    """Requests answered, by status."""
    return {
        f'trellis_gateway_requests_total{{{POD},{_ROUTE},status="{status[1:]}"}}': values
        for status, values in by_status.items()
    }


def answers(size: str, bound: str, in_time: str) -> dict[str, str]:
    """100 answers a minute to requests of a size, of which so many came within `bound` seconds."""
    labels = f'{POD},max_tokens="{size}"'
    return {
        f'trellis_gateway_request_seconds_bucket{{{labels},le="{bound}"}}': in_time,
        f'trellis_gateway_request_seconds_bucket{{{labels},le="+Inf"}}': f"0+100{_FOR_HOURS}",
        f"trellis_gateway_request_seconds_count{{{labels}}}": f"0+100{_FOR_HOURS}",
    }


def engine(up: str, began: str = "0x600", draining: str = "0x600") -> dict[str, str]:
    """An engine whose process began at a time, in seconds."""
    return {
        f"trellis_engine_up{{{POD}}}": up,
        f"trellis_engine_draining{{{POD}}}": draining,
        f"process_start_time_seconds{{{POD}}}": began,
    }


def queue(waiting: int, a_minute: int) -> dict[str, str]:
    """Tokens that wait, and tokens that are taken."""
    return {
        f"trellis_engine_queued_tokens{{{POD}}}": f"{waiting}{_FOR_HOURS}",
        f"trellis_engine_tokens_total{{{POD}}}": f"0+{a_minute}{_FOR_HOURS}",
    }


def digests(second: str) -> dict[str, str]:
    """Two engines of a model, of which one may have another digest."""
    return {
        f'trellis_engine_info{{{MODEL},pod="p",model_digest="a"}}': "1x600",
        f'trellis_engine_info{{{MODEL},pod="q",model_digest="{second}"}}': "1x600",
    }


def download(received: str, present: str, total: int = 1000) -> dict[str, str]:
    """A model on its way."""
    return {
        f"trellis_fetch_received_bytes{{{POD}}}": received,
        f"trellis_fetch_present_bytes{{{POD}}}": present,
        f"trellis_fetch_total_bytes{{{POD}}}": f"{total}x600",
    }


def visits(well: str, failed: str) -> dict[str, str]:
    """Visits of an operator to models."""
    name = "trellis_operator_reconcile_seconds_count"
    return {
        f'{name}{{{OPERATOR},outcome="converged"}}': well,
        f'{name}{{{OPERATOR},outcome="failed"}}': failed,
        f'{name}{{{OPERATOR},outcome="away"}}': "0x600",
    }


def counted(name: str, values: str, *more: str) -> dict[str, str]:
    """One series of a pod."""
    return {f"{name}{{{','.join((POD, *more))}}}": values}


_UNDER_WAY = counted("trellis_gateway_requests_in_flight", "0x600")
_UP = "trellis_gateway_endpoint_up"

CASES = (
    Case("TrellisErrorsFast", "one of twenty fails", requests(_200="0+95x600", _500="0+5x600"), "70m", MODEL),
    Case("TrellisErrorsFast", "one of a thousand fails", requests(_200="0+999x600", _500="0+1x600"), "70m"),
    Case("TrellisErrorsFast", "callers' mistakes", requests(_200="0+50x600", _400="0+50x600", _500="0x600"), "70m"),
    Case("TrellisErrorsFast", "it is over", requests(_200="0+95x600", _500="0+5x60 300x600"), "80m"),
    Case("TrellisErrorsFast", "for four minutes", requests(_200="0+1000x600", _500="0x66 0+50x600"), "70m"),
    Case("TrellisErrorsFast", "nobody asks", requests(_200="0x600", _500="0x600"), "70m"),
    Case("TrellisErrorsSlow", "one of a hundred fails", requests(_200="0+99x600", _503="0+1x600"), "390m", MODEL),
    Case("TrellisErrorsSlow", "a short burst", requests(_200="0+1000x600", _500="0+100x5 500x600"), "390m"),
    Case(
        "TrellisSlowAnswers",
        "small ones are late",
        answers("512", "1.0", "0+80x600"),
        "70m",
        f'{MODEL},max_tokens="512"',
    ),
    Case("TrellisSlowAnswers", "medium ones are late", answers("8192", "10.0", "0+80x600"), "70m", 'max_tokens="8192"'),
    Case("TrellisSlowAnswers", "large ones are late", answers("any", "100.0", "0+80x600"), "70m", 'max_tokens="any"'),
    Case("TrellisSlowAnswers", "few are late", answers("512", "1.0", "0+95x600"), "70m"),
    Case("TrellisSlowAnswers", "for four minutes", answers("512", "1.0", "0+100x66 6600x600"), "70m"),
    Case("TrellisSlowAnswers", "it is over", answers("512", "1.0", "0+100x20 2000x29 2100+100x600"), "70m"),
    Case(
        "TrellisSlowAnswers",
        "large ones take ten seconds, as they may",
        answers("any", "100.0", "0+100x600")
        | {f'trellis_gateway_request_seconds_bucket{{{POD},max_tokens="any",le="1.0"}}': "0x600"},
        "70m",
    ),
    Case("TrellisRefusing", "a tenth is refused", requests(_200="0+90x600", _429="0+10x600"), "20m", MODEL),
    Case("TrellisRefusing", "one of a hundred is", requests(_200="0+99x600", _429="0+1x600"), "20m"),
    Case("TrellisRefusing", "a burst", requests(_200="0+90x600", _429="0+0x5 0+10x3 30x600"), "20m"),
    Case("TrellisQueueGrowing", "more than a minute of work waits", queue(70_000, 60_000), "15m", MODEL),
    Case("TrellisQueueGrowing", "work waits, and none is taken", queue(10, 0), "15m", MODEL),
    Case("TrellisQueueGrowing", "ten seconds of work wait", queue(10_000, 60_000), "15m"),
    Case("TrellisQueueGrowing", "nothing waits, nothing is taken", queue(0, 0), "15m"),
    Case("TrellisNoReadyEngine", "none is known", _UNDER_WAY, "5m", MODEL),
    Case("TrellisNoReadyEngine", "none is ready", _UNDER_WAY | counted(_UP, "0x600", 'endpoint="e"'), "5m", MODEL),
    Case("TrellisNoReadyEngine", "one is", _UNDER_WAY | counted(_UP, "1x600", 'endpoint="e"'), "5m"),
    Case("TrellisNoReadyEngine", "for a moment", _UNDER_WAY | counted(_UP, "1x3 0x0 1x600", 'endpoint="e"'), "4m"),
    Case("TrellisKeysRefused", "half have no key", requests(_200="0+10x600", _401="0+10x600"), "40m", MODEL),
    Case("TrellisKeysRefused", "some have none", requests(_200="0+90x600", _401="0+10x600"), "40m"),
    Case(
        "TrellisEnginesEjected",
        "again and again",
        counted("trellis_gateway_ejections_total", "0+1x600", 'endpoint="e"'),
        "15m",
        MODEL,
    ),
    Case(
        "TrellisEnginesEjected",
        "once, at a restart",
        counted("trellis_gateway_ejections_total", "0x5 1x600", 'endpoint="e"'),
        "15m",
    ),
    Case("TrellisEnginesUnknown", "for an hour", counted("trellis_gateway_sync_age_seconds", "0+60x600"), "60m", POD),
    Case("TrellisEnginesUnknown", "for minutes", counted("trellis_gateway_sync_age_seconds", "240x600"), "60m"),
    Case("TrellisWarmupStuck", "never ready", engine("0x600"), "30m", POD),
    Case("TrellisWarmupStuck", "still young", engine("0x600"), "15m"),
    Case("TrellisWarmupStuck", "it came", engine("0x18 1x600"), "30m"),
    Case("TrellisWarmupStuck", "it drains", engine("0x600", draining="1x600"), "30m"),
    Case("TrellisEngineStuck", "well, then not", engine("1x20 0x600"), "26m", POD),
    Case("TrellisEngineStuck", "a new process warms up", engine("1x20 0x600", "0x20 1200x600"), "26m"),
    Case("TrellisEngineStuck", "it drains", engine("1x20 0x600", draining="0x20 1x600"), "26m"),
    Case("TrellisEngineStuck", "a minute ago it was well", engine("1x20 0x600"), "22m"),
    Case("TrellisEngineStuck", "well", engine("1x600"), "26m"),
    Case("TrellisRestarts", "four within an hour", engine("1x600", "0x10 600x10 1200x10 1800x10 2400x600"), "55m", POD),
    Case("TrellisRestarts", "a rollout", engine("1x600", "0x10 600x600"), "55m"),
    Case(
        "TrellisRestarts",
        "of a program of somebody else",
        {f"process_start_time_seconds{{{POD}}}": "0x10 600x10 1200x10 1800x600"},
        "55m",
    ),
    Case(
        "TrellisDigestMismatch",
        "gateways ask for another",
        counted("trellis_engine_calls_total", "0+1x600", 'code="FAILED_PRECONDITION"'),
        "20m",
        MODEL,
    ),
    Case(
        "TrellisDigestMismatch",
        "while a rollout goes on",
        counted("trellis_engine_calls_total", "0+1x3 3x600", 'code="FAILED_PRECONDITION"'),
        "20m",
    ),
    Case("TrellisMixedDigests", "for hours", digests("b"), "65m", MODEL),
    Case("TrellisMixedDigests", "one digest", digests("a"), "65m"),
    Case("TrellisMixedDigests", "a rollout", digests("b"), "30m"),
    Case("TrellisNonFiniteRows", "one row", counted("trellis_engine_nonfinite_rows_total", "0x5 1x600"), "8m", POD),
    Case("TrellisNonFiniteRows", "long ago", counted("trellis_engine_nonfinite_rows_total", "0x5 1x600"), "40m"),
    Case("TrellisBatchesFail", "again and again", counted("trellis_engine_step_failures_total", "0+1x600"), "10m", POD),
    Case("TrellisBatchesFail", "one", counted("trellis_engine_step_failures_total", "0x5 1x600"), "10m"),
    Case("TrellisOperatorFailing", "half fail", visits("0+5x600", "0+5x600"), "30m", 'namespace="o"'),
    Case("TrellisOperatorFailing", "some fail", visits("0+90x600", "0+5x600"), "30m"),
    Case("TrellisOperatorAway", "it is gone", {f"trellis_operator_is_leader{{{OPERATOR}}}": "1x10"}, "30m", ""),
    Case("TrellisOperatorAway", "nobody leads", {f"trellis_operator_is_leader{{{OPERATOR}}}": "0x600"}, "30m", ""),
    Case("TrellisOperatorAway", "it leads", {f"trellis_operator_is_leader{{{OPERATOR}}}": "1x600"}, "30m"),
    Case("TrellisOperatorAway", "nobody scrapes it", {}, "30m"),
    Case("TrellisDownloadStalled", "half of it came", download("0+100x5 500x600", "0+100x5 500x600"), "40m", POD),
    Case("TrellisDownloadStalled", "it comes", download("0+10x600", "0+10x600", 100_000), "40m"),
    Case("TrellisDownloadStalled", "all is here", download("1000x600", "1000x600"), "40m"),
)
