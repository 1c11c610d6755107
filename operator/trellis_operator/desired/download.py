"""The volume claim for weights, and the Job that brings them into it before any pod needs them.

The Job's name carries a hash of what it does and of the Secret it does it with: another revision or a rotated token
is another Job. Files are published under the source's own folder, so that pods of the old source keep theirs.
"""

from collections.abc import Collection, Mapping

from trellis_operator.desired import config_map, names
from trellis_operator.desired.child import Object, child
from trellis_operator.desired.fetch import fetch_container
from trellis_operator.desired.model_volume import is_read_anew, source_folder
from trellis_operator.desired.pod import pod_spec
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.kinds import CLAIM, JOB
from trellis_operator.source import HuggingFaceSource, S3Source
from trellis_operator.spec import Cache, EmbeddingModel

_VOLUME = "model"
_ROOT = "/models"
PERMANENT = 2
"""The exit code of a fetch that would fail again."""
_ATTEMPTS = 1000
"""The deadline ends the Job, not the number of attempts."""


def claim(model: EmbeddingModel, cache: Cache) -> Object:
    """The volume that downloaded weights are kept on."""
    spec: Object = {"accessModes": [cache.access_mode], "resources": {"requests": {"storage": cache.size}}}
    if cache.storage_class is not None:
        spec["storageClassName"] = cache.storage_class
    return child(CLAIM, model, names.model_claim(model), names.DOWNLOAD, spec=spec)


def download_job(
    model: EmbeddingModel, setting: ClusterSetting, secrets: Mapping[str, str], read: Collection[str] = ()
) -> Object:
    """Fetches all of the model into its folder on the volume; done at once where it is there already.

    Args:
        model: whose.
        setting: what the cluster and the operator's flags add.
        secrets: hashes of contents by name of the Secret.
        read: folders of the volume that pods read now. Others, of earlier sources, are removed.
    """
    labels = names.labels(model, names.DOWNLOAD)
    return child(
        JOB,
        model,
        job_name(model, secrets),
        names.DOWNLOAD,
        spec={
            "backoffLimit": _ATTEMPTS,
            "activeDeadlineSeconds": model.download.deadline_s,
            "podFailurePolicy": {"rules": [_give_up()]},
            "template": {"metadata": {"labels": labels}, "spec": _pod(model, setting, read)},
        },
    )


def job_name(model: EmbeddingModel, secrets: Mapping[str, str]) -> str:
    """Another one for whatever could make a difference to the download."""
    secret = secret_name(model)
    said = [model.spec["model"]["source"], model.spec["cache"]["download"], model.restart]
    if is_read_anew(model):
        said.append(source_folder(model))  # an operator that knew one folder a source alone has not filled this one
    return f"{model.name}-model-{names.short_hash([*said, secrets.get(secret) if secret else None])}"


def secret_name(model: EmbeddingModel) -> str | None:
    """The Secret that the source needs, if it needs one."""
    source = model.model.source
    if isinstance(source, HuggingFaceSource) and source.token is not None:
        return source.token.name
    return source.secret if isinstance(source, S3Source) else None


def _pod(model: EmbeddingModel, setting: ClusterSetting, read: Collection[str]) -> Object:
    folder = f"{_ROOT}/{source_folder(model)}"
    fetch = _measured(fetch_container(model, setting, folder, {"name": _VOLUME, "mountPath": _ROOT}))
    fetch["command"] += ["--keep", *sorted(read)]
    volume = {"name": _VOLUME, "persistentVolumeClaim": {"claimName": names.model_claim(model)}}
    return pod_spec(
        names.engine(model),
        [fetch],
        [volume, config_map.config_volume(model, names.ENGINE)],
        automountServiceAccountToken=False,
        restartPolicy="Never",
    )


def _measured(fetch: Object) -> Object:
    """The fetch with metrics, on the port that the PodMonitor asks engines on."""
    port = names.ENGINE_METRICS_PORT
    return fetch | {
        "command": [*fetch["command"], "--metrics-listen", f"0.0.0.0:{port}"],
        "ports": [{"name": "metrics", "containerPort": port, "protocol": "TCP"}],
    }


def _give_up() -> Object:
    return {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [PERMANENT]}}
