"""The PodDisruptionBudgets: how much a drain of nodes may take at once."""

from trellis_operator.desired import names
from trellis_operator.desired.child import Object, child
from trellis_operator.kinds import BUDGET
from trellis_operator.spec import EmbeddingModel


def engine_budget(model: EmbeddingModel) -> Object:
    """Of engines."""
    return _budget(model, names.engine(model), names.ENGINE)


def gateway_budget(model: EmbeddingModel) -> Object:
    """Of gateways."""
    return _budget(model, names.gateway(model), names.GATEWAY)


def _budget(model: EmbeddingModel, name: str, component: str) -> Object:
    return child(
        BUDGET,
        model,
        name,
        component,
        spec={
            "maxUnavailable": model.max_unavailable,
            "selector": {"matchLabels": names.selector(model, component)},
            # A pod that is not ready serves nobody: it must not hold up a drain.
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    )
