"""Volumes for downloads: a folder that all nodes of our own cluster see, else what the default StorageClass makes."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2ekit.kubectl import Kubectl


@dataclass(frozen=True)
class Volume:
    """Where a download goes.

    Attributes:
        claim: what a model asks for, as `spec.cache.persistentVolumeClaim`.
        folder: of this machine; None where the cluster is not ours.
    """

    claim: dict[str, Any]
    folder: Path | None


@contextmanager
def volume(kubectl: Kubectl, claims: int = 1) -> Iterator[Volume]:
    """A volume of 1Gi for a model of a namespace; taken away at the end.

    Args:
        kubectl: in that namespace.
        claims: how many claims it is enough for, one after the other or at once; they share what is on it.
    """
    if kubectl.cluster.state is None:
        yield Volume({"size": "1Gi", "accessMode": "ReadWriteOnce"}, None)
        return
    name = kubectl.namespace
    folder = kubectl.cluster.state / "volumes" / name
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    volumes = [f"{name}-{number}" for number in range(claims)]
    kubectl.apply(*(_persistent(volume, name, folder) for volume in volumes))
    try:
        yield Volume({"size": "1Gi", "storageClassName": name}, folder)
    finally:
        kubectl.run("delete", "persistentvolume", *volumes, "--wait=false", "--ignore-not-found")


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[None]:
    """Put a disk of that size under a folder; `enlarge_disk` makes it larger. Needs root."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=1777", "none", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def enlarge_disk(folder: Path, megabytes: int) -> None:
    """Change the size of a disk that `small_disk` made."""
    subprocess.run(["mount", "-o", f"remount,size={megabytes}m", folder], check=True)


def _persistent(name: str, storage_class: str, folder: Path) -> dict[str, Any]:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": storage_class,
        "hostPath": {"path": os.fspath(folder)},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
