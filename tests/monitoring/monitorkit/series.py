"""Series of a model's pods in promtool's notation, one value a minute. Knows no alert."""

from collections.abc import Iterable

MODEL = 'namespace="s",embedding_model="m"'
POD = f'{MODEL},pod="p"'
OPERATOR = 'namespace="o",pod="p"'
_ROUTE = 'route="/v1/embeddings"'
_LATER = "x600"
WHOLE = 100_000_000
"""Bytes of a model that is fetched."""

Series = dict[str, str]


def every_minute(increments: Iterable[float]) -> str:
    """A counter that grows by these, minute by minute, from 0 on."""
    value, values = 0.0, ["0"]
    for each in increments:
        value += each
        values.append(f"{value:g}")
    return " ".join(values)


def requests(**by_status: str) -> Series:
    """Requests answered, by status."""
    return {
        f'trellis_gateway_requests_total{{{POD},{_ROUTE},status="{status[1:]}"}}': values
        for status, values in by_status.items()
    }


def answers(size: str, bound: str, in_time: str) -> Series:
    """100 answers a minute to requests of a size, of which so many came within `bound` seconds."""
    labels = f'{POD},max_tokens="{size}"'
    return {
        f'trellis_gateway_request_seconds_bucket{{{labels},le="{bound}"}}': in_time,
        f'trellis_gateway_request_seconds_bucket{{{labels},le="+Inf"}}': f"0+100{_LATER}",
        f"trellis_gateway_request_seconds_count{{{labels}}}": f"0+100{_LATER}",
    }


def engine(up: str, began: str = "0x600", draining: str = "0x600") -> Series:
    """An engine whose process began at a time, in seconds."""
    return {
        f"trellis_engine_up{{{POD}}}": up,
        f"trellis_engine_draining{{{POD}}}": draining,
        f"process_start_time_seconds{{{POD}}}": began,
    }


def queue(waiting: str, taken: str) -> Series:
    """Tokens that wait, and tokens that are taken."""
    return {f"trellis_engine_queued_tokens{{{POD}}}": waiting, f"trellis_engine_tokens_total{{{POD}}}": taken}


def digests(second: str, contents: str = "c") -> Series:
    """Two engines of a model, of which one may have another digest or hold other contents."""
    return {
        f'trellis_engine_info{{{MODEL},pod="p",model_digest="a",contents="c"}}': "1x600",
        f'trellis_engine_info{{{MODEL},pod="q",model_digest="{second}",contents="{contents}"}}': "1x600",
    }


def starting(seconds: str, timeout_s: int = 600, served: str = "") -> Series:
    """An engine that begins: for how long, of how long it may take, and since when it serves."""
    began = {
        f"trellis_engine_warmup_seconds{{{POD}}}": seconds,
        f"trellis_engine_warmup_timeout_seconds{{{POD}}}": f"{timeout_s}{_LATER}",
    }
    return began | ({f'trellis_engine_info{{{POD},model_digest="a"}}': served} if served else {})


def began(times: str) -> Series:
    """When the process of a model's pod began, in seconds."""
    return counted("process_start_time_seconds", times)


def download(came: str) -> Series:
    """A model of `WHOLE` bytes on its way."""
    return {
        f"trellis_fetch_received_bytes{{{POD}}}": came,
        f"trellis_fetch_present_bytes{{{POD}}}": came,
        f"trellis_fetch_total_bytes{{{POD}}}": f"{WHOLE}{_LATER}",
    }


def visits(well: str, failed: str) -> Series:
    """Visits of an operator to models."""
    name = "trellis_operator_reconcile_seconds_count"
    return {
        f'{name}{{{OPERATOR},outcome="converged"}}': well,
        f'{name}{{{OPERATOR},outcome="failed"}}': failed,
        f'{name}{{{OPERATOR},outcome="away"}}': "0x600",
    }


def counted(name: str, values: str, *more: str) -> Series:
    """One series of a pod."""
    return {f"{name}{{{','.join((POD, *more))}}}": values}
