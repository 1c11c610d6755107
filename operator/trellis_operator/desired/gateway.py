"""The gateway Deployment: the pods that speak HTTP."""

from collections.abc import Mapping
from typing import Any

from trellis_operator import intent
from trellis_operator.commands import GatewayPlace, gateway_command
from trellis_operator.desired import config_map, fetch, names
from trellis_operator.desired.child import Object
from trellis_operator.desired.deployment import deployment
from trellis_operator.desired.model_volume import FOLDER, ModelVolume, model_volume
from trellis_operator.desired.pod import container, grace_s, pod_spec, spread
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.spec import EmbeddingModel

_KEYS = "api-keys"
_KEYS_FOLDER = "/etc/trellis-keys"


def gateway(model: EmbeddingModel, setting: ClusterSetting, secrets: Mapping[str, str]) -> Object:
    """The gateways.

    New ones all come up beside the old ones and wait there for an engine of their digest: they take over together, as
    soon as the first one is ready. None of the old ones goes before.
    """
    return deployment(
        model,
        names.gateway(model),
        names.GATEWAY,
        intent.gateway_intent(model, secrets),
        _pod(model, setting, model_volume(model, setting, fetch.TOKENIZER)),
        model.digest,
        replicas=0 if model.suspended else model.gateway.replicas,
        minReadySeconds=1,
        # A gateway is ready only when an engine is: it may wait as long as engines may.
        progressDeadlineSeconds=max(model.engine.progress_deadline_s, 2),
        strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}},
    )


def _pod(model: EmbeddingModel, setting: ClusterSetting, files: ModelVolume) -> Object:
    keys = model.gateway.api_keys_secret
    volumes = [files.volume, config_map.config_volume(model, names.GATEWAY)]
    return pod_spec(
        names.gateway(model),
        [_container(model, setting, files)],
        [*volumes, {"name": _KEYS, "secret": {"secretName": keys}}] if keys else volumes,
        initContainers=list(files.before),
        terminationGracePeriodSeconds=grace_s(model.engine.drain_delay_s, model.engine.drain_timeout_s),
        topologySpreadConstraints=spread(names.selector(model, names.GATEWAY)),
    )


def _container(model: EmbeddingModel, setting: ClusterSetting, files: ModelVolume) -> Object:
    mounts = [files.mount, config_map.config_mount()]
    if model.gateway.api_keys_secret:
        mounts.append({"name": _KEYS, "mountPath": _KEYS_FOLDER, "readOnly": True})
    return container(
        names.GATEWAY,
        setting.gateway_image,
        setting,
        ["python", *gateway_command(model, _place(model))],
        mounts,
        ports=[{"name": "http", "containerPort": names.HTTP_PORT, "protocol": "TCP"}],
        resources=dict(model.gateway.resources),
        startupProbe=_probe("/healthz", failures=60) | {"periodSeconds": 1},
        readinessProbe=_probe("/readyz", failures=2) | {"periodSeconds": 2},
        livenessProbe=_probe("/healthz", failures=3) | {"periodSeconds": 10},
    )


def _place(model: EmbeddingModel) -> GatewayPlace:
    return GatewayPlace(
        model_folder=FOLDER,
        embedding_file=f"{config_map.MOUNT}/{config_map.EMBEDDING}",
        model_digest=model.engine_digest,
        listen=f"0.0.0.0:{names.HTTP_PORT}",
        drain_delay_s=model.engine.drain_delay_s,
        engines=(),
        engines_service=f"{model.namespace}/{names.engines_service(model)}",
        gateways_service=f"{model.namespace}/{names.service(model)}",
        api_keys_file=_KEYS_FOLDER if model.gateway.api_keys_secret else None,
    )


def _probe(path: str, failures: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": "http"},
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }
