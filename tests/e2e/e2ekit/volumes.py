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
def volume(kubectl: Kubectl) -> Iterator[Volume]:
    """A volume of 1Gi for one model of a namespace; taken away at the end."""
    if kubectl.cluster.state is None:
        yield Volume({"size": "1Gi", "accessMode": "ReadWriteOnce"}, None)
        return
    name = kubectl.namespace
    folder = kubectl.cluster.state / "volumes" / name
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    kubectl.apply(_persistent(name, folder))
    try:
        yield Volume({"size": "1Gi", "storageClassName": name}, folder)
    finally:
        kubectl.run("delete", "persistentvolume", name, "--wait=false", "--ignore-not-found")


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


def _persistent(name: str, folder: Path) -> dict[str, Any]:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": name,
        "hostPath": {"path": os.fspath(folder)},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
