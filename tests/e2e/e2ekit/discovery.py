"""Pods as Prometheus' own discovery tells of them, in a file that Prometheus watches.

Debian builds Prometheus without its discovery of Kubernetes. This is that one's role `pod`, as far as a PodMonitor
asks: one target for each port of each container, with the same names of labels.
"""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.repeating import Repeated, repeating

META = "__meta_kubernetes"
_EVERY_S = 1.0
_ASK_S = 10.0
_LISTED_S = 60.0


def sanitized(label: str) -> str:
    """A label of an object as Prometheus spells it."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in label)


def groups(pods: Iterable[Manifest]) -> list[dict[str, Any]]:
    """The targets of pods that have an address, as a file of targets lists them. Pure."""
    return [
        {"targets": [f"{pod['status']['podIP']}:{port['containerPort']}"], "labels": _labels(pod, container, port)}
        for pod in pods
        if pod["status"].get("podIP")
        for container in (*pod["spec"].get("initContainers", []), *pod["spec"]["containers"])
        for port in container.get("ports", [])
    ]


def _labels(pod: Manifest, container: Manifest, port: Manifest) -> dict[str, str]:
    own = pod["metadata"].get("labels", {})
    return {
        f"{META}_namespace": pod["metadata"]["namespace"],
        f"{META}_pod_name": pod["metadata"]["name"],
        f"{META}_pod_phase": pod["status"]["phase"],
        f"{META}_pod_container_name": container["name"],
        f"{META}_pod_container_port_name": port.get("name", ""),
        **{f"{META}_pod_label_{sanitized(name)}": value for name, value in own.items()},
        **{f"{META}_pod_labelpresent_{sanitized(name)}": "true" for name in own},
    }


@contextmanager
def discovering(kubectl: Kubectl, folder: Path) -> Iterator[Path]:
    """A file with the pods of a namespace, while inside; it stays as it is while the API server is away."""
    path = folder / f"pods-{kubectl.namespace}.json"

    def look() -> None:
        found = groups(kubectl.all("pods", timeout_s=_ASK_S))
        unfinished = path.with_suffix(".new")
        unfinished.write_text(json.dumps(found), encoding="utf-8")
        os.replace(unfinished, path)

    looks = Repeated(look)
    with repeating(looks, _EVERY_S):
        looks.until(path.exists, "the pods are listed", _LISTED_S)
        yield path
