"""Engines that do wrong when they are told to: an image of this checkout with one module more, and the telling."""

import dataclasses
from pathlib import Path

from e2ekit.cluster import Cluster
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl
from e2ekit.layered import layered

_PACKAGE = "opt/project/tulip_rose"
_FAULTS = Path(__file__).parent / "in_engine" / "faults.py"
_ENGINE = Path(__file__).resolve().parents[3] / "services" / "tulip_rose" / "rose" / "engine.py"
_BESIDE = b"\nimport tulip_rose.faults\n"


def with_faults(cluster: Cluster, images: Images) -> Images:
    """Images whose engine knows the faults of `in_engine/faults.py`; without being told it does none of them.

    For a cluster of our own.
    """
    files = {
        f"{_PACKAGE}/faults.py": _FAULTS.read_bytes(),
        f"{_PACKAGE}/rose/engine.py": _ENGINE.read_bytes() + _BESIDE,
    }
    return dataclasses.replace(images, engine=layered(cluster, images.engine, "faulty", files))


def tell(kubectl: Kubectl, pod: str, *faults: str) -> None:
    """From now on an engine does these things wrong, also after its process has begun again."""
    kubectl.run("exec", pod, "--", "touch", *(f"/tmp/{fault}" for fault in faults))
