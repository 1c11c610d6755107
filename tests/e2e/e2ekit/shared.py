"""A namespace and its operator, for several tests of a file."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2ekit.cluster import Cluster
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl
from e2ekit.namespaces import make_namespace, remove_namespace
from e2ekit.operator import OperatorProcess


@dataclass(frozen=True)
class Shared:
    """What they have in common; the report of one that fails tells of both."""

    kubectl: Kubectl
    operator: OperatorProcess


@contextmanager
def sharing(cluster: Cluster, images: Images, purpose: str, folder: Path, *flags: str) -> Iterator[Shared]:
    """A new namespace and an operator that looks after it, while inside."""
    kubectl = make_namespace(cluster, purpose)
    operator = OperatorProcess(cluster, images, kubectl.namespace, folder / "operator.log", flags)
    operator.start()
    try:
        yield Shared(kubectl, operator)
    finally:
        operator.stop()
        remove_namespace(kubectl)
