"""The need of the formula as Prometheus is asked for it. Pure; a test holds its answer against the formula's.

The answer is one number, or none at all where Prometheus does not see enough to tell: then a scaler leaves things as
they are. None is given while no gateway is scraped, and while gateways use engines of which no metric comes: what
nobody scrapes must not look like what nobody uses.
"""

from trellis_operator.scaling.formula import Targets

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
    parts = {
        "waiting": f"({held} + {queued}) / {targets.waiting_tokens:.15g}",
        "rate": f"{rate} / (avg({best} > 0) * {targets.utilization:.15g})",
    }
    # A label keeps the two apart: of two series with equal labels `or` would drop one.
    larger = " or ".join(f'label_replace({part}, "by", "{name}", "", "")' for name, part in parts.items())
    # One that has just begun to serve may be scraped a moment later.
    used = f"min_over_time({series('trellis_gateway_endpoint_up')}[{window_s}s]) == 1"
    unseen = f"{used} unless on () {series('trellis_engine_up')}"
    return f"max({larger}) and on () {held} unless on () ({unseen})"
