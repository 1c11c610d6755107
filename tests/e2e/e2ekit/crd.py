"""The CRD of this checkout, on the cluster."""

from pathlib import Path

from e2ekit.kubectl import Kubectl

CRD_FILE = Path(__file__).resolve().parents[3] / "crds" / "embeddingmodel.yaml"
CRD_NAME = "embeddingmodels.trellis.dev"


def install_crd(kubectl: Kubectl) -> None:
    """Apply it, and wait until the API server serves it."""
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", str(CRD_FILE))
    kubectl.run("wait", "--for=condition=Established", f"crd/{CRD_NAME}", "--timeout=30s")
