"""GPUs without GPUs: nodes that announce them, and engines that are told to use one and make do with the processor."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2ekit.cluster import Cluster
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl
from e2ekit.layered import layered
from e2ekit.models import ACCELERATOR, announce_accelerators

GPU = "nvidia.com/gpu"
_MAIN = Path(__file__).resolve().parents[3] / "services" / "tulip_rose" / "__main__.py"
_MAKES_DO = b"""import sys
assert sys.argv.count("cuda") == 1, "it was not told to use a GPU"
sys.argv[sys.argv.index("cuda")] = "cpu"
"""


def without_gpu(cluster: Cluster, images: Images) -> Images:
    """Images whose engine demands to be told to use a GPU, and then runs on the CPU.

    For a cluster of our own; another one takes the images as they are.
    """
    if not cluster.own:
        return images
    main = {"opt/project/tulip_rose/__main__.py": _MAKES_DO + _MAIN.read_bytes()}
    return dataclasses.replace(images, engine=layered(cluster, images.engine, "without-gpu", main))


@dataclass(frozen=True)
class Accelerators:
    """What nodes announce; `announce` says how many the first of them has."""

    kubectl: Kubectl

    @property
    def resource(self) -> str:
        """GPUs on a cluster of our own. Another one may have real ones, which are not ours to take away."""
        return GPU if self.kubectl.cluster.own else ACCELERATOR

    def announce(self, count: int) -> None:
        announce_accelerators(self.kubectl, count, self.resource)


@contextmanager
def accelerators(kubectl: Kubectl) -> Iterator[Accelerators]:
    """None at first, and none afterwards."""
    announced = Accelerators(kubectl)
    announced.announce(0)
    try:
        yield announced
    finally:
        announced.announce(0)
