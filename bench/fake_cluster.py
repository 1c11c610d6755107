"""A cluster of the project's own tool on which kwok stands for kubelets: many models, and no pod that runs.

What works there is the API server and the operator.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.cluster import ROOT, TOOL, built, kubectl, tool

NAMESPACE = "scale"
FAKE_NODES = 10
_PORT = 19100
_LEASES = "--node-lease-duration-seconds=40"
"""kwok renews them; without, the nodes would be taken for dead."""


def manifest(name: str) -> dict[str, Any]:
    package = {"name": "some-model", "version": "1.0", "path": "model"}
    return {
        "apiVersion": "trellis.dev/v1alpha1",
        "kind": "EmbeddingModel",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"model": {"source": {"package": package}}},
    }


def manifests(models: int) -> list[dict[str, Any]]:
    return [manifest(f"model-{number}") for number in range(models)]


def count(condition: str) -> int:
    path = f'{{range .items[*]}}{{.status.conditions[?(@.type=="{condition}")].status}} {{end}}'
    return ask("get", "em", "-o", f"jsonpath={path}").split().count("True")


def prepare() -> None:
    """The CRD, fake nodes, and no real node that takes pods."""
    ask("apply", "--server-side", "-f", str(ROOT / "crds" / "embeddingmodel.yaml"))
    ask("wait", "--for=condition=Established", "crd/embeddingmodels.trellis.dev", "--timeout=30s")
    ask("create", "namespace", NAMESPACE)
    ask("cordon", "node0")
    nodes = [_fake_node(number) for number in range(FAKE_NODES)]
    ask("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))


def _fake_node(number: int) -> dict[str, Any]:
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "250"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"fake-{number}", "labels": {"type": "kwok"}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def kwok_command() -> list[str]:
    tool("build", "kwok")
    stages, kubeconfig = Path(__file__).with_name("kwok.yaml"), tool("kubeconfig").strip()
    return [
        built("kwok"),
        "--manage-nodes-with-label-selector=type=kwok",
        f"--config={stages}",
        f"--kubeconfig={kubeconfig}",
        _LEASES,
    ]


def operator_command() -> list[str]:
    listen = ("--listen-metrics", f"127.0.0.1:{_PORT}", "--listen-health", f"127.0.0.1:{_PORT + 1}")
    return [sys.executable, "-m", "trellis_operator", "run", *listen, "--log-level", "warning"]


@contextmanager
def running(name: str, command: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
    """A process in the cluster's network; its output goes to the cluster's logs."""
    log = Path(tool("kubeconfig").strip()).parent / "log" / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen([TOOL, "run", *command], stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def metrics() -> str:
    asked = [TOOL, "run", "curl", "-s", f"http://127.0.0.1:{_PORT}/metrics"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout


def ask(*arguments: str, stdin: str | None = None) -> str:
    return kubectl("-n", NAMESPACE, *arguments, stdin=stdin)
