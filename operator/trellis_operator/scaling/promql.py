"""The need of the formula as Prometheus is asked for it. Pure; a test holds its answer against the formula's.

The answer is one number, or none at all where Prometheus does not see enough to tell: then a scaler leaves things as
they are. None is given while no gateway is scraped, and while gateways use engines of which no metric comes: what
nobody scrapes must not look like what nobody uses.
"""

from collections.abc import Callable

from trellis_operator.scaling.formula import FULL_BATCH, QUEUE_SHARE, SMALL_BATCH, Targets

CAPACITY_WINDOW = "1h"
"""An engine that has little to do makes small batches, which are slow by the token: its best in this time counts.
Also how long the capacity of engines is known that are gone."""
_MODEL_LABEL = "embedding_model"
"""As the PodMonitor names it."""


def need_query(namespace: str, model: str, targets: Targets, window_s: int) -> str:
    """The expression whose value is `formula.need`.

    Args:
        namespace: of the model.
        model: its name.
        targets: what is asked for.
        window_s: over which the rate of tokens is taken; two scrapes at least.
    """

    def series(name: str) -> str:
        return f'{name}{{namespace="{namespace}",{_MODEL_LABEL}="{model}"}}'

    held = f"sum({series('trellis_gateway_held_tokens')})"
    queued = f"(sum({series('trellis_engine_queued_tokens')}) or vector(0))"
    rate = f"sum(rate({series('trellis_engine_tokens_total')}[{window_s}s]))"
    best = f"max_over_time({series('trellis_engine_capacity_tokens_per_second')}[{CAPACITY_WINDOW}])"
    capacity = f"avg({best} > 0)"
    unproved = _unproved(series, window_s) if targets.accelerated else ""
    by_rate = f"{rate} / ({capacity} * {targets.utilization:.15g})"
    if unproved:
        by_rate = f"(min({_apart(rate=by_rate, engines=_there(series))}) and {unproved} or {by_rate})"
    waiting = _by_waiting(f"({held} + {queued})", capacity, series, targets, unproved)
    larger = _apart(**waiting, rate=by_rate)
    # One that has just begun to serve may be scraped a moment later.
    used = f"min_over_time({series('trellis_gateway_endpoint_up')}[{window_s}s]) == 1"
    unseen = f"{used} unless on () {series('trellis_engine_up')}"
    return f"max({larger}) and on () {held} unless on () ({unseen})"


def _apart(**parts: str) -> str:
    """All of them as one vector. A label keeps them apart: of two series with equal labels `or` would drop one."""
    return " or ".join(f'label_replace({part}, "by", "{name}", "", "")' for name, part in parts.items())


def _there(series: Callable[[str], str]) -> str:
    """How many engines serve. Where each is replaced by a new one, what goes would count twice: as a need of one more.

    What only starts is not counted for the same reason: a rollout has one more of these.
    """
    return f"count(({series('trellis_engine_up')} == 1) unless ({series('trellis_engine_draining')} == 1))"


def _unproved(series: Callable[[str], str], window_s: int) -> str:
    """Something where batches are so small that they do not tell what an accelerator can do, else nothing."""
    tokens, batches = (
        f"sum(rate({series(f'trellis_engine_batch_tokens_{of}')}[{window_s}s]))" for of in ("sum", "count")
    )
    full = f"clamp_max(avg({series('trellis_engine_max_batch_tokens')} > 0), {FULL_BATCH})"
    return f"({tokens} / {batches} / {full} < {SMALL_BATCH:.15g})"


def _by_waiting(
    waiting: str, capacity: str, series: Callable[[str], str], targets: Targets, unproved: str
) -> dict[str, str]:
    """By a number; or by what an engine does, and what its queue has room for: the larger need is the smaller room."""
    if targets.waiting_tokens is not None:
        return {"waiting": f"{waiting} / {targets.waiting_tokens:.15g}"}
    measured = f"{waiting} / ({capacity} * {targets.wait_s:.15g})"
    unmeasured = f"{waiting} / {targets.unmeasured_tokens:.15g}"
    if unproved:
        # The larger room is the smaller need.
        measured = f"(min({_apart(measured=measured, unmeasured=unmeasured)}) and {unproved} or {measured})"
    room = f"avg({series('trellis_engine_max_queued_tokens')} > 0)"
    return {
        "waiting": f"({measured} or {unmeasured})",
        "room": f"{waiting} / ({room} * {QUEUE_SHARE:.15g})",
    }
