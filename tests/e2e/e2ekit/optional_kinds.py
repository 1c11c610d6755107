"""The kinds that a manifest may ask for and that a Kubernetes need not know, as those who define them publish them.

Only their CRDs: nobody acts on the objects, but the API server judges them by the real schemas. The files come with the
Go modules of `tests/cluster/go`, in the versions that these name.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2ekit.cluster import checked
from e2ekit.kubectl import Kubectl

_TOOL = Path(__file__).resolve().parents[2] / "cluster" / "cluster"
_GO = _TOOL.parent / "go"
_DOWNLOAD_S = 300


@dataclass(frozen=True)
class Definition:
    """A CRD.

    Attributes:
        name: of the object.
        folder: of `tests/cluster/go` that says which version.
        module: that has the file.
        path: of the file within it.
    """

    name: str
    folder: str
    module: str
    path: str

    def file(self) -> Path:
        """The file on this machine; the module is downloaded where it is not there yet."""
        command = [str(_TOOL), "go", "-C", str(_GO / self.folder), "mod", "download", "-json", self.module]
        return Path(json.loads(checked(command, _DOWNLOAD_S))["Dir"]) / self.path


POD_MONITOR = Definition(
    "podmonitors.monitoring.coreos.com",
    "kinds",
    "github.com/prometheus-operator/prometheus-operator",
    "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
)
HTTP_ROUTE = Definition(
    "httproutes.gateway.networking.k8s.io",
    "kinds",
    "sigs.k8s.io/gateway-api",
    "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
)
SCALED_OBJECT = Definition(
    "scaledobjects.keda.sh", "keda", "github.com/kedacore/keda/v2", "config/crd/bases/keda.sh_scaledobjects.yaml"
)


@contextmanager
def optional_kinds(kubectl: Kubectl, *definitions: Definition) -> Iterator[None]:
    """They are served while inside; those that were there before stay, as they are."""
    absent = [each for each in definitions if kubectl.find("crd", each.name) is None]
    try:
        for each in absent:
            # By server-side apply: they are larger than what an annotation holds.
            kubectl.run("apply", "--server-side", "-f", str(each.file()))
            kubectl.run("wait", "--for=condition=Established", f"crd/{each.name}", "--timeout=30s")
        yield
    finally:
        for each in absent:
            # Waited for: whoever makes it anew must not meet the old one on its way out.
            kubectl.run("delete", "crd", each.name, "--ignore-not-found", "--timeout=90s")
