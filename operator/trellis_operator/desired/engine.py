"""The engine Deployment: the pods that hold the weights."""

import math
from typing import Any

from trellis_operator import intent
from trellis_operator.commands import EnginePlace, engine_command
from trellis_operator.desired import config_map, names
from trellis_operator.desired.child import Object
from trellis_operator.desired.deployment import deployment
from trellis_operator.desired.model_volume import FOLDER, ModelVolume, model_volume
from trellis_operator.desired.pod import container, grace_s, pod_spec, spread
from trellis_operator.desired.quantity import whole_cores
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.engine_spec import CPU_GRAPHS
from trellis_operator.spec import EmbeddingModel

_PROBE_PERIOD_S = 2
_CUDA = ("nvidia.com/", "amd.com/")
"""Makers of what PyTorch calls cuda."""
_SETTLE_S = 15
"""What gateways of a new digest need, beyond their own drain delay, to have taken over from those of the old one."""


def engine(model: EmbeddingModel, setting: ClusterSetting) -> Object:
    """The engines; how they are replaced is decided where free accelerators are known."""
    return deployment(
        model,
        names.engine(model),
        names.ENGINE,
        intent.engine_intent(model),
        _pod(model, setting, model_volume(model, setting)),
        model.engine_digest,
        replicas=0 if model.suspended else model.engine.replicas,
        minReadySeconds=model.engine.drain_delay_s + _SETTLE_S,
        progressDeadlineSeconds=max(model.engine.progress_deadline_s, model.engine.drain_delay_s + _SETTLE_S + 1),
    )


def _pod(model: EmbeddingModel, setting: ClusterSetting, weights: ModelVolume) -> Object:
    scheduling = model.scheduling
    return pod_spec(
        names.engine(model),
        [_container(model, setting, weights)],
        [weights.volume, config_map.config_volume(model, names.ENGINE)],
        initContainers=list(weights.before),
        automountServiceAccountToken=False,
        terminationGracePeriodSeconds=grace_s(model.engine.drain_delay_s, model.engine.drain_timeout_s),
        topologySpreadConstraints=scheduling.get("topologySpreadConstraints")
        or spread(names.selector(model, names.ENGINE)),
        **{key: value for key, value in scheduling.items() if key != "topologySpreadConstraints"},
    )


def _container(model: EmbeddingModel, setting: ClusterSetting, weights: ModelVolume) -> Object:
    return container(
        names.ENGINE,
        setting.engine_image,
        setting,
        ["python", *engine_command(model, _place(model))],
        [weights.mount, config_map.config_mount()],
        ports=[
            {"name": "grpc", "containerPort": names.GRPC_PORT, "protocol": "TCP"},
            {"name": "metrics", "containerPort": names.ENGINE_METRICS_PORT, "protocol": "TCP"},
        ],
        resources=_resources(model),
        startupProbe=_probe("readiness", failures=math.ceil(model.engine.killed_after_s / _PROBE_PERIOD_S)),
        readinessProbe=_probe("readiness", failures=2),
        livenessProbe=_probe("liveness", failures=3) | {"periodSeconds": 10},
    )


def _place(model: EmbeddingModel) -> EnginePlace:
    return EnginePlace(
        model_folder=FOLDER,
        embedding_file=f"{config_map.MOUNT}/{config_map.EMBEDDING}",
        model_digest=model.engine_digest,
        listen=f"0.0.0.0:{names.GRPC_PORT}",
        drain_delay_s=model.engine.drain_delay_s,
        metrics_listen=f"0.0.0.0:{names.ENGINE_METRICS_PORT}",
        device=_device(model.engine.accelerator),
        threads=whole_cores(model.engine.resources),
    )


def _device(accelerator: str | None) -> str:
    """Where the engine runs. On a GPU it must be the GPU: falling back to a CPU would only look like serving."""
    if accelerator is None:
        return "cpu"
    if accelerator == CPU_GRAPHS:
        return "cpu-graphs"
    return "cuda" if accelerator.startswith(_CUDA) else "auto"


def _resources(model: EmbeddingModel) -> dict[str, Any]:
    """What the manifest says, and the accelerator, which has a limit only: its request is the same."""
    accelerator = model.engine.accelerator
    if accelerator is None:
        return dict(model.engine.resources)
    return {**model.engine.resources, "limits": {**model.engine.resources.get("limits", {}), accelerator: "1"}}


def _probe(service: str, failures: int) -> Object:
    return {
        "grpc": {"port": names.GRPC_PORT, "service": service},
        "periodSeconds": _PROBE_PERIOD_S,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }
