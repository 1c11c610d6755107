"""A PodMonitor in Prometheus' own words: what the operator of Prometheus would make of it. Pure.

That operator looks for pods in the monitor's namespace, keeps those that its labels select and, of these, each port of
the name that an endpoint gives; then it names namespace, pod and container, and at last does what the monitor adds.
"""

import re
from pathlib import Path
from typing import Any

from e2ekit.discovery import META, sanitized
from e2ekit.kubectl import Manifest

_POD = f"{META}_pod"
_GONE = "(Failed|Succeeded)"
_NAMES = {
    f"{META}_namespace": "namespace",
    f"{_POD}_name": "pod",
    f"{_POD}_container_name": "container",
}


def jobs(monitor: Manifest, pods: Path) -> list[dict[str, Any]]:
    """The `scrape_configs` of a PodMonitor.

    Args:
        monitor: as the API server has it.
        pods: the file with the pods of its namespace, see `discovery`.
    """
    where, spec = monitor["metadata"], monitor["spec"]
    selected = [_keep(f"{_POD}_label_{sanitized(key)}", value) for key, value in _labels(spec["selector"])]
    return [
        {
            "job_name": f"podMonitor/{where['namespace']}/{where['name']}/{number}",
            "metrics_path": endpoint.get("path", "/metrics"),
            "file_sd_configs": [{"files": [str(pods)]}],
            "relabel_configs": [
                _keep(f"{META}_namespace", where["namespace"]),
                {"source_labels": [f"{_POD}_phase"], "regex": _GONE, "action": "drop"},
                *selected,
                _keep(f"{_POD}_container_port_name", endpoint["port"]),
                *({"source_labels": [source], "target_label": target} for source, target in _NAMES.items()),
                *relabelings(endpoint),
            ],
        }
        for number, endpoint in enumerate(spec["podMetricsEndpoints"])
    ]


def relabelings(endpoint: Manifest) -> list[dict[str, Any]]:
    """What an endpoint adds, in the spelling of Prometheus' configuration."""
    return [
        {re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", key): value for key, value in each.items()}
        for each in endpoint.get("relabelings", [])
    ]


def _labels(selector: Manifest) -> list[tuple[str, str]]:
    assert set(selector) == {"matchLabels"}, f"not understood: {selector}"
    return sorted(selector["matchLabels"].items())


def _keep(source: str, value: str) -> dict[str, Any]:
    return {"source_labels": [source], "regex": re.escape(value), "action": "keep"}
