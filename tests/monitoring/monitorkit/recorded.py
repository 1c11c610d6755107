"""What the real operator of Prometheus makes of our PodMonitor, recorded: `python -m monitorkit.recorded`.

Its build takes minutes, so tests read the record. To make it anew: `cluster build prometheus-operator`, `cluster up`,
and this, with the folders of the tests on the path. Needs root.
"""

import base64
import gzip
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from monitorkit.programs import NAMESPACE, model
from trellis_operator.desired.monitor import pod_monitor

from bench.cluster import TOOL, built, kubectl, tool, until

RECORD = Path(__file__).resolve().parents[1] / "recorded" / "prometheus-operator.yaml"
_GO = Path(TOOL).parent / "go" / "prometheus-operator"
_MODULE = "github.com/prometheus-operator/prometheus-operator"
_SECRET = "prometheus-p"
_PROMETHEUS = {
    "apiVersion": "monitoring.coreos.com/v1",
    "kind": "Prometheus",
    "metadata": {"name": "p", "namespace": NAMESPACE},
    "spec": {"replicas": 1, "podMonitorSelector": {}, "podMonitorNamespaceSelector": {}, "version": "v3.5.0"},
}


def recorded(namespace: str, name: str, pods: Path) -> list[dict[str, Any]]:
    """The jobs that it makes of a model's PodMonitor, with what it fills in when a Prometheus of one shard begins.

    Debian's Prometheus knows no Kubernetes: it reads a file with the pods of the namespace that it would ask for.
    """
    text = RECORD.read_text(encoding="utf-8").replace("$(SHARD)", "0")
    jobs = list(yaml.safe_load(text.replace(NAMESPACE, namespace).replace(model().name, name)))
    for job in jobs:
        assert job.pop("kubernetes_sd_configs") == [{"role": "pod", "namespaces": {"names": [namespace]}}]
        job["file_sd_configs"] = [{"files": [str(pods)]}]
    return jobs


def main() -> None:
    """Let it run on the cluster that is up, and write what it made."""
    found = json.loads(tool("go", "-C", str(_GO), "mod", "download", "-json", _MODULE))
    kubectl("apply", "--server-side", "-f", f"{found['Dir']}/example/prometheus-operator-crd/")
    kubectl("create", "namespace", NAMESPACE)
    try:
        with _operator():
            kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all([_monitor(), _PROMETHEUS]))
            until("it has written a configuration", 60, lambda: bool(_jobs()))
        head = f"# What {_MODULE} {found['Version']} makes of our PodMonitor: `python -m monitorkit.recorded`.\n"
        RECORD.write_text(head + yaml.safe_dump(_jobs(), sort_keys=False), encoding="utf-8")
    finally:
        kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def _monitor() -> dict[str, Any]:
    made = pod_monitor(model())
    return made | {"metadata": {key: made["metadata"][key] for key in ("name", "namespace", "labels")}}


def _jobs() -> list[dict[str, Any]]:
    secrets = json.loads(kubectl("-n", NAMESPACE, "get", "secret", "-o", "json"))["items"]
    packed = [each["data"]["prometheus.yaml.gz"] for each in secrets if each["metadata"]["name"] == _SECRET]
    written = yaml.safe_load(gzip.decompress(base64.b64decode(packed[0]))) if packed else {}
    return list(written.get("scrape_configs") or [])


@contextmanager
def _operator() -> Iterator[None]:
    kubeconfig = Path(tool("kubeconfig").strip())
    [user] = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))["users"]
    shown = ("cert", user["user"]["client-certificate"]), ("key", user["user"]["client-key"])
    flags = [f"-{kind}-file={path}" for kind, path in (*shown, ("ca", str(kubeconfig.parent / "pki" / "ca.crt")))]
    where = ("-apiserver=https://127.0.0.1:6443", "-web.listen-address=127.0.0.1:18443", "-log-level=warn")
    running = subprocess.Popen([TOOL, "run", built("prometheus-operator/operator"), *where, *flags])
    try:
        yield
    finally:
        running.terminate()
        running.wait(30)


if __name__ == "__main__":
    main()
