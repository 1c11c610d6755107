"""What a manifest asks for that means nothing on one machine: said once, in one line. Pure."""

from collections.abc import Mapping
from typing import Any

_CLUSTER_ONLY = {
    "": ("cache", "scheduling", "disruption"),
    "monitoring": ("podMonitor",),
    "engine": ("autoscaling", "resources", "rollout"),
    "gateway": ("hold", "resources", "expose"),
}


def ignored_fields(body: Mapping[str, Any]) -> list[str]:
    """The fields that were given and have no effect here.

    Args:
        body: the manifest as it was written, without defaults.
    """
    spec = body["spec"]
    ignored = [
        f"{section}.{field}" if section else field
        for section, fields in _CLUSTER_ONLY.items()
        for field in fields
        if field in (spec.get(section, {}) if section else spec)
    ]
    engine = spec.get("engine", {})
    return ignored + ["engine.cudaGraphs"] * ("cudaGraphs" in engine and "accelerator" not in engine)


def notes(body: Mapping[str, Any]) -> list[str]:
    """One line for each thing that is not done as the manifest says."""
    spec = body["spec"]
    gateways = spec.get("gateway", {}).get("replicas", 1)
    ignored = ignored_fields(body)
    said = {
        f"ignored on one machine: {', '.join(ignored)}": bool(ignored),
        f"gateway.replicas is {gateways}: one gateway runs on one machine": gateways != 1,
        "engine.accelerator: engines take a GPU if there is one, else the CPU": "accelerator" in spec.get("engine", {}),
    }
    return [line for line, applies in said.items() if applies]
