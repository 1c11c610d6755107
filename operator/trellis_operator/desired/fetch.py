"""The container that brings a model from its source: `python -m trellis_operator fetch`.

The same in the download Job and before the programs of a pod. Secrets reach it as environment, never as arguments.
"""

from collections.abc import Sequence
from typing import Any

from trellis_operator.desired import config_map
from trellis_operator.desired.pod import container
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.source import HuggingFaceSource, S3Source
from trellis_operator.spec import EmbeddingModel

Object = dict[str, Any]

FETCH = "fetch"
TOKENIZER = "tokenizer"
_S3_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


def fetch_container(
    model: EmbeddingModel, setting: ClusterSetting, folder: str, mount: Object, part: str = "all"
) -> Object:
    """Fetch `part` of the model into `folder`, which lies on `mount`."""
    return container(
        FETCH,
        setting.fetch_image,
        setting,
        _command(model, folder, part),
        [config_map.config_mount(), mount],
        env=_environment(model, setting),
    )


def _command(model: EmbeddingModel, folder: str, part: str) -> Sequence[str]:
    return [
        *("python", "-m", "trellis_operator", "fetch"),
        *("--source", f"{config_map.MOUNT}/{config_map.SOURCE}"),
        *("--to", folder),
        *("--part", part),
        *("--deadline-seconds", str(model.download.deadline_s)),
        *("--stall-seconds", str(model.download.stall_s)),
    ]


def _environment(model: EmbeddingModel, setting: ClusterSetting) -> list[Object]:
    """The model's Secrets, and what the operator was told for all models; the model's own win."""
    secrets = _secrets(model)
    taken = {variable["name"] for variable in secrets}
    return [*secrets, *({"name": name, "value": value} for name, value in setting.fetch_env if name not in taken)]


def _secrets(model: EmbeddingModel) -> list[Object]:
    source = model.model.source
    if isinstance(source, HuggingFaceSource) and source.token is not None:
        return [_variable("HF_TOKEN", source.token.name, source.token.key)]
    if isinstance(source, S3Source) and source.secret is not None:
        return [_variable(name, source.secret, name) for name in _S3_VARIABLES]
    return []


def _variable(variable: str, secret: str, key: str) -> Object:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
