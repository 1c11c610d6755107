"""What scales the engines of a model: KEDA's ScaledObject where it can be, else a HorizontalPodAutoscaler.

Both scale the EmbeddingModel and not its Deployment, see `autoscaler`.
"""

from trellis_operator.desired import names
from trellis_operator.desired.autoscaler import autoscaler, target
from trellis_operator.desired.child import Object, child
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.engine_spec import Autoscaling
from trellis_operator.kinds import SCALED_OBJECT
from trellis_operator.scaling.formula import Targets
from trellis_operator.scaling.promql import need_query
from trellis_operator.spec import EmbeddingModel

_POLL_S = 10
"""Between two looks of KEDA at a model without engines, which is a part of how long its first request waits."""


def scaler(model: EmbeddingModel, scaling: Autoscaling, setting: ClusterSetting) -> Object:
    """The object that scales."""
    url = scaling.prometheus_url or setting.prometheus_url
    if SCALED_OBJECT.name not in setting.served or url is None:
        return autoscaler(model, scaling)
    return _scaled_object(model, scaling, url)


def scaler_lacks(model: EmbeddingModel, setting: ClusterSetting) -> tuple[str, str] | None:
    """A reason and what to do, where a model is to be autoscaled and only a part of it can be had."""
    scaling = model.engine.autoscaling
    if scaling is None:
        return None
    if SCALED_OBJECT.name not in setting.served:
        return "KedaNotInstalled", (
            "this API server does not know keda.sh/v1alpha1: install KEDA (https://keda.sh). Until then a "
            "HorizontalPodAutoscaler goes by waiting tokens alone, where an adapter tells of them, and never from zero"
        )
    if scaling.prometheus_url is None and setting.prometheus_url is None:
        return "NoPrometheus", (
            "nobody said which Prometheus scrapes this model: set spec.engine.autoscaling.prometheusUrl, or for all "
            "models the chart's operator.prometheusUrl"
        )
    return None


def targets(scaling: Autoscaling) -> Targets:
    """What the formula is asked for."""
    return Targets(scaling.target_queued_tokens, scaling.target_utilization, scaling.min_replicas, scaling.max_replicas)


def _scaled_object(model: EmbeddingModel, scaling: Autoscaling, url: str) -> Object:
    query = need_query(model.namespace, model.name, targets(scaling), scaling.rate_window_s)
    return child(
        SCALED_OBJECT,
        model,
        names.engine(model),
        names.ENGINE,
        spec={
            "scaleTargetRef": target(model),
            "minReplicaCount": scaling.min_replicas,
            "maxReplicaCount": scaling.max_replicas,
            "pollingInterval": _POLL_S,
            # Of the last engine alone; the others go by the behavior below. A new model gets as much time to be used.
            "cooldownPeriod": scaling.scale_down_stabilization_s,
            "initialCooldownPeriod": scaling.scale_down_stabilization_s,
            "advanced": {
                "horizontalPodAutoscalerConfig": {
                    "behavior": {"scaleDown": {"stabilizationWindowSeconds": scaling.scale_down_stabilization_s}}
                }
            },
            "triggers": [_trigger(url, query)],
        },
    )


def _trigger(url: str, query: str) -> Object:
    """The need is in engines, so one of it an engine. No answer is no zero: then nothing moves."""
    return {
        "type": "prometheus",
        "metricType": "AverageValue",
        "metadata": {
            "serverAddress": url,
            "query": query,
            "threshold": "1",
            "activationThreshold": "0",
            "ignoreNullValues": "false",
        },
    }
