"""The HorizontalPodAutoscaler, where there is no KEDA: by the tokens that wait, if an adapter tells of them.

It scales the EmbeddingModel itself, and the operator follows its `replicas`. So whoever scales, a person or the
autoscaler, writes one field, and the operator never writes that one.
"""

from trellis_operator.desired import names
from trellis_operator.desired.child import Object, child
from trellis_operator.engine_spec import Autoscaling
from trellis_operator.kinds import AUTOSCALER, EMBEDDING_MODEL
from trellis_operator.scaling.formula import UNMEASURED_ACCELERATED, UNMEASURED_ON_CPU
from trellis_operator.spec import EmbeddingModel

_QUEUED_TOKENS = "trellis_engine_queued_tokens"


def autoscaler(model: EmbeddingModel, scaling: Autoscaling) -> Object:
    """Scales by the tokens that wait for each engine."""
    return child(
        AUTOSCALER,
        model,
        names.engine(model),
        names.ENGINE,
        spec={
            "scaleTargetRef": target(model),
            # 0 is for those who scale from outside: an autoscaler of pods' metrics would see none, and never come back.
            "minReplicas": max(1, scaling.min_replicas),
            "maxReplicas": scaling.max_replicas,
            "metrics": [_queued_tokens(scaling.target_queued_tokens or unmeasured_tokens(model))],
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": scaling.scale_down_stabilization_s}},
        },
    )


def unmeasured_tokens(model: EmbeddingModel) -> int:
    """That may wait for an engine of which nothing was measured."""
    return UNMEASURED_ACCELERATED if model.engine.accelerated else UNMEASURED_ON_CPU


def target(model: EmbeddingModel) -> Object:
    """What is scaled: the model, through its scale subresource."""
    return {"apiVersion": EMBEDDING_MODEL.api_version, "kind": EMBEDDING_MODEL.name, "name": model.name}


def _queued_tokens(target: int) -> Object:
    return {
        "type": "Pods",
        "pods": {
            "metric": {"name": _QUEUED_TOKENS},
            "target": {"type": "AverageValue", "averageValue": str(target)},
        },
    }
