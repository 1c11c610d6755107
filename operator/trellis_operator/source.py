"""Where a model comes from, as frozen values: `spec.model.source`. Pure.

Built from fields that a validator has accepted and defaulted. Never knows how a model is brought from there.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class SecretKey:
    """One value in a Secret of the same namespace."""

    name: str
    key: str


@dataclass(frozen=True)
class HuggingFaceSource:
    """A repository on the Hugging Face hub.

    Attributes:
        repo: owner/name.
        revision: a commit, branch or tag; None is the newest.
        token: of a gated or private repository.
    """

    repo: str
    revision: str | None
    token: SecretKey | None


@dataclass(frozen=True)
class S3Source:
    """A folder in an S3 bucket.

    Attributes:
        bucket: its name.
        folder: the keys' common beginning, without slashes at its ends; empty for the whole bucket.
        endpoint: URL of the server; None is Amazon's.
        region: of the bucket; None lets the server's usual one hold.
        secret: name of the Secret with the access key; None does not sign requests.
    """

    bucket: str
    folder: str
    endpoint: str | None
    region: str | None
    secret: str | None


@dataclass(frozen=True)
class PvcSource:
    """A folder on a volume that exists."""

    claim: str
    path: str


@dataclass(frozen=True)
class ImageSource:
    """A folder in a container image or OCI artifact."""

    reference: str
    path: str


@dataclass(frozen=True)
class PackageSource:
    """A model that ships inside a Python package.

    Attributes:
        name: of the distribution on a package index.
        version: exact.
        path: of the model's folder, from the root of the package's files.
    """

    name: str
    version: str
    path: str


FetchedSource: TypeAlias = HuggingFaceSource | S3Source | PackageSource
"""What must be fetched."""

MountedSource: TypeAlias = PvcSource | ImageSource
"""What a cluster mounts as it is."""


@dataclass(frozen=True)
class UnknownSource:
    """A kind of source that a newer CRD knows and this program does not."""


Source: TypeAlias = FetchedSource | MountedSource | UnknownSource


_COMMIT = re.compile(r"[0-9a-f]{40}")


def can_change(source: Source) -> bool:
    """Whether the same words may mean other files tomorrow: then two pods may be given different ones."""
    match source:
        case HuggingFaceSource():
            return not _COMMIT.fullmatch(source.revision or "")
        case ImageSource():
            return "@" not in source.reference
        case PackageSource():
            return False
    return True


def source_from(spec: Mapping[str, Any]) -> Source:
    """Read `spec.model.source`, which has at most one kind that is known here."""
    for kind, read in _READERS.items():
        if kind in spec:
            return read(spec[kind])
    return UnknownSource()


def _hugging_face(fields: Mapping[str, Any]) -> HuggingFaceSource:
    token = fields.get("tokenSecretRef")
    return HuggingFaceSource(
        repo=fields["repo"],
        revision=fields.get("revision"),
        token=SecretKey(token["name"], token["key"]) if token else None,
    )


def _s3(fields: Mapping[str, Any]) -> S3Source:
    bucket, _, folder = fields["uri"].removeprefix("s3://").partition("/")
    return S3Source(
        bucket=bucket,
        folder=folder.strip("/"),
        endpoint=fields.get("endpoint"),
        region=fields.get("region"),
        secret=fields.get("secretRef", {}).get("name"),
    )


def _pvc(fields: Mapping[str, Any]) -> PvcSource:
    return PvcSource(claim=fields["claimName"], path=fields["path"])


def _image(fields: Mapping[str, Any]) -> ImageSource:
    return ImageSource(reference=fields["reference"], path=fields["path"])


def _package(fields: Mapping[str, Any]) -> PackageSource:
    return PackageSource(name=fields["name"], version=fields["version"], path=fields["path"])


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Source]] = {
    "huggingFace": _hugging_face,
    "s3": _s3,
    "pvc": _pvc,
    "image": _image,
    "package": _package,
}
