"""Engines whose device fails for two sizes: their image, and what is expected of it."""

import dataclasses
from pathlib import Path

from e2ekit.cluster import Cluster
from e2ekit.images import Images
from e2ekit.layered import layered

_OPEN = "tulip_rose/rose/graphs/open.py"
_SERVICES = Path(__file__).resolve().parents[3] / "services"
_DEVICE = Path(__file__).parent / "in_engine" / "short_device.py"
_IMPORTED = "from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice"
_INSTEAD = "from tulip_rose.rose.graphs.short_device import ShortDevice as CpuGraphDevice"


def short_of_room(cluster: Cluster, images: Images) -> Images:
    """Images whose engines, where they have graphs on a CPU, have them on the device of `in_engine`.

    For a cluster of our own; another one takes the images as they are.
    """
    if not cluster.own:
        return images
    opening = (_SERVICES / _OPEN).read_text(encoding="utf-8")
    assert _IMPORTED in opening
    files = {
        f"opt/project/{_OPEN}": opening.replace(_IMPORTED, _INSTEAD).encode(),
        "opt/project/tulip_rose/rose/graphs/short_device.py": _DEVICE.read_bytes(),
    }
    return dataclasses.replace(images, engine=layered(cluster, images.engine, "short-of-room", files))
