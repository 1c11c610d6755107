"""What stood here before the last change of what an upgrade is about: the operator, its API or its chart.

Read from git, so a checkout needs the history back to then.
"""

import io
import subprocess
import tarfile
from functools import lru_cache

import pytest
from e2ekit.cluster import Cluster
from e2ekit.helm import ROOT
from e2ekit.images import Images
from e2ekit.layered import layered

_UPGRADED = ("operator/trellis_operator", "services/trellis_wire", "crds", "helm/trellis")
_PACKAGES = {"operator/trellis_operator": "trellis_operator", "services/trellis_wire": "trellis_wire"}
_PROJECT = "opt/project"
"""Where the operator's image has its packages."""


@lru_cache
def previous_commit() -> str:
    """The commit before the last one that changed the operator, its API or its chart."""
    last = _git("rev-list", "-n1", "HEAD", "--", *_UPGRADED).decode().strip()
    return _git("rev-parse", "--verify", f"{last}~1^{{commit}}").decode().strip()


def previous_files(*folders: str) -> dict[str, bytes]:
    """Files of that commit in these folders, by their path in the repository."""
    packed = _git("archive", previous_commit(), *folders)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        return {member.name: archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]


def previous_operator(cluster: Cluster, images: Images) -> str:
    """An image with the operator of that commit on what today's needs; today's where the cluster is not ours."""
    if not cluster.own:
        return images.operator
    files = {"operator/trellis_operator/embeddingmodel.yaml": previous_files("crds")["crds/embeddingmodel.yaml"]}
    files |= previous_files(*_PACKAGES)
    return layered(
        cluster,
        images.operator,
        "previous",
        _as_installed(files),
        [f"{_PROJECT}/{name}" for name in _PACKAGES.values()],
    )


def _as_installed(files: dict[str, bytes]) -> dict[str, bytes]:
    return {
        f"{_PROJECT}/{name}/{path.removeprefix(folder + '/')}": body
        for path, body in files.items()
        for folder, name in _PACKAGES.items()
        if path.startswith(f"{folder}/")
    }


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.fail(
            "an upgrade begins with the commit before the last change of operator, API and chart, which this checkout "
            f"does not have: git fetch --deepen=50 ({done.stderr.decode().strip()})",
            pytrace=False,
        )
    return done.stdout
