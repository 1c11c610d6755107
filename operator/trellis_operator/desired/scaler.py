"""What scales the engines of a model: KEDA's ScaledObject where it can be, else a HorizontalPodAutoscaler.

Both scale the EmbeddingModel and not its Deployment, see `autoscaler`.
"""

from trellis_operator.desired import names
from trellis_operator.desired.autoscaler import autoscaler, target, unmeasured_tokens
from trellis_operator.desired.child import Object, child
from trellis_operator.desired.setting import Authentication, ClusterSetting
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
    # Whoever writes a model names any URL: the operator's credentials go to the operator's Prometheus alone.
    authentication = setting.prometheus_authentication if url == setting.prometheus_url else None
    return _scaled_object(model, scaling, _trigger(url, _query(model, scaling), authentication))


def scaler_lacks(model: EmbeddingModel, setting: ClusterSetting) -> tuple[str, str] | None:
    """A reason and what to do, where a model is to be autoscaled and only a part of it can be had."""
    scaling = model.engine.autoscaling
    if scaling is None:
        return None
    if SCALED_OBJECT.name not in setting.served:
        return "KedaNotInstalled", (
            "this API server does not know keda.sh/v1alpha1, or does not let the operator list ScaledObjects: install "
            "KEDA (https://keda.sh), or the chart's roles of this version. Until then a "
            "HorizontalPodAutoscaler goes by waiting tokens alone, where an adapter tells of them, and never from zero"
        )
    if scaling.prometheus_url is None and setting.prometheus_url is None:
        return "NoPrometheus", (
            "nobody said which Prometheus scrapes this model: set spec.engine.autoscaling.prometheusUrl, or for all "
            "models the chart's operator.prometheusUrl"
        )
    return None


def targets(model: EmbeddingModel, scaling: Autoscaling) -> Targets:
    """What the formula is asked for."""
    return Targets(
        waiting_tokens=scaling.target_queued_tokens,
        utilization=scaling.target_utilization,
        min_replicas=scaling.min_replicas,
        max_replicas=scaling.max_replicas,
        wait_s=scaling.target_wait_s,
        unmeasured_tokens=unmeasured_tokens(model),
        accelerated=model.engine.accelerated,
    )


def _query(model: EmbeddingModel, scaling: Autoscaling) -> str:
    return need_query(model.namespace, model.name, targets(model, scaling), scaling.rate_window_s)


def _scaled_object(model: EmbeddingModel, scaling: Autoscaling, trigger: Object) -> Object:
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
            "triggers": [trigger],
        },
    )


def _trigger(url: str, query: str, authentication: Authentication | None) -> Object:
    """The need is in engines, so one of it an engine. No answer is no zero: then nothing moves."""
    metadata = {
        "serverAddress": url,
        "query": query,
        "threshold": "1",
        "activationThreshold": "0",
        "ignoreNullValues": "false",
    }
    trigger = {"type": "prometheus", "metricType": "AverageValue", "metadata": metadata}
    if authentication is None:
        return trigger
    return trigger | {
        "metadata": metadata | {"authModes": ",".join(authentication.modes)},
        "authenticationRef": {"kind": authentication.kind, "name": authentication.name},
    }
