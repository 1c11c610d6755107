"""How the model gets to `/models/model` in a pod, read-only: mounted, copied or fetched, as its source says."""

from dataclasses import dataclass
from typing import Any

from trellis_operator.desired import fetch, names
from trellis_operator.desired.pod import container
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.source import ImageSource, PvcSource, UnknownSource, can_change
from trellis_operator.spec import EmbeddingModel

Object = dict[str, Any]

FOLDER = "/models/model"
_ROOT = "/models"
COPY = "copy"
"""The container that copies a model out of an image."""
_VOLUME = "model"


@dataclass(frozen=True)
class ModelVolume:
    """What a pod needs to have the model.

    Attributes:
        volume: of the pod.
        mount: of the program's container.
        before: containers that run before it.
    """

    volume: Object
    mount: Object
    before: tuple[Object, ...] = ()


def model_volume(model: EmbeddingModel, setting: ClusterSetting, part: str = "all") -> ModelVolume:
    """The volume of a pod that needs `part` of the model: all of it, or its tokenizer."""
    source = model.model.source
    if isinstance(source, PvcSource):
        return _claim(source.claim, source.path)
    if names.is_downloaded(model):
        return _claim(names.model_claim(model), source_folder(model))
    if isinstance(source, ImageSource):
        return _image(source, setting)
    return _own_disk(fetch.fetch_container(model, setting, FOLDER, _root(), part))


def source_folder(model: EmbeddingModel) -> str:
    """The folder of a source in a volume that may hold those of several.

    A source that can change is read anew for each text of the restart annotation, beside what pods still read.
    """
    source = model.spec["model"]["source"]
    return names.short_hash([source, model.restart] if is_read_anew(model) else source)


def is_read_anew(model: EmbeddingModel) -> bool:
    """Whether a person has asked for what a source that can change has now."""
    return bool(model.restart) and can_change(model.model.source)


def mounted_folder(pod: Object, model: str) -> str:
    """The folder of the model's own volume that a pod reads, by its spec; empty where it mounts none of it.

    Folders of other volumes, which a manifest may name at any depth, are nobody's to keep or to remove.
    """
    mounts = (mount for each in pod.get("containers", []) for mount in each.get("volumeMounts", []))
    path = next((mount.get("subPath", "") for mount in mounts if mount["name"] == _VOLUME), "")
    volumes: dict[str, Object] = {each["name"]: each for each in pod.get("volumes", [])}
    claim = volumes.get(_VOLUME, {}).get("persistentVolumeClaim", {}).get("claimName")
    return path.partition("/")[0] if claim == names.claim_of(model) else ""


def _claim(claim: str, path: str) -> ModelVolume:
    return ModelVolume(
        volume={"name": _VOLUME, "persistentVolumeClaim": {"claimName": claim, "readOnly": True}},
        mount=_mount(path),
    )


def _image(source: ImageSource, setting: ClusterSetting) -> ModelVolume:
    if setting.image_volumes:
        image = {"reference": source.reference, "pullPolicy": setting.pull_policy}
        return ModelVolume(volume={"name": _VOLUME, "image": image}, mount=_mount(source.path))
    copy = ["cp", "-a", "-T", f"/{source.path.strip('/')}", FOLDER]
    return _own_disk(container(COPY, source.reference, setting, copy, [_root()]))


def source_lacks(model: EmbeddingModel, setting: ClusterSetting) -> tuple[str, str] | None:
    """A reason and what to do, where the model cannot be had from its source in the way of this operator."""
    source = model.model.source
    if isinstance(source, UnknownSource):
        return "SourceNotKnown", (
            "spec.model.source has a kind that this operator does not know: install the operator of the version that "
            "the EmbeddingModel CRD is of. Until then nothing of this model is changed"
        )
    if not isinstance(source, ImageSource) or setting.image_volumes or _inner(source.path):
        return None
    return "PathNeeded", (
        "spec.model.source.image.path is the whole image, which cannot be copied out of itself: name the model's "
        "folder, or let the operator mount images (operator.imageVolumes of the chart)"
    )


def _own_disk(before: Object) -> ModelVolume:
    return ModelVolume(volume={"name": _VOLUME, "emptyDir": {}}, mount=_root() | {"readOnly": True}, before=(before,))


def _root() -> Object:
    return {"name": _VOLUME, "mountPath": _ROOT}


def _mount(path: str) -> Object:
    """The folder `path` of the volume; the whole volume has no subPath."""
    mount: Object = {"name": _VOLUME, "mountPath": FOLDER, "readOnly": True}
    inner = _inner(path)
    return mount | {"subPath": inner} if inner else mount


def _inner(path: str) -> str:
    """A folder below the root; empty for the root itself."""
    inner = path.strip("/").removeprefix("./")
    return "" if inner == "." else inner
