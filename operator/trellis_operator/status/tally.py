"""How many models are how: their conditions, counted. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from trellis_operator.status.condition import FALSE, TRUE, UNKNOWN

TYPES = (
    "Ready",
    "Accepted",
    "SourceReady",
    "EngineAvailable",
    "GraphsWarmed",
    "GatewayAvailable",
    "Progressing",
    "Degraded",
    "Autoscaled",
)
STATUSES = (TRUE, FALSE, UNKNOWN)
_RESTING = {"Suspended", "ScaledToZero", "NotNeeded"}
"""Why Ready does not hold of a model that is not asked to serve."""


def tally(models: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], int]:
    """Models by each condition and its status, those of which there are none as well.

    Args:
        models: bodies; one that nobody has judged yet counts nowhere.
    """
    found = Counter(
        (each.get("type"), each.get("status"))
        for body in models
        for each in body.get("status", {}).get("conditions", [])
    )
    return {(kind, status): found[kind, status] for kind in TYPES for status in STATUSES}


def unserved(models: Iterable[Mapping[str, Any]]) -> int:
    """Models that are asked to serve and do not, though nothing is wrong with their manifests and sources.

    Args:
        models: bodies; one that nobody has judged yet is none of them.
    """
    return sum(_is_unserved(body.get("status", {}).get("conditions", [])) for body in models)


def _is_unserved(conditions: Iterable[Mapping[str, Any]]) -> bool:
    said = {each.get("type"): (each.get("status"), each.get("reason")) for each in conditions}
    status, reason = said.get("Ready", (UNKNOWN, ""))
    blocked = any(said.get(kind, ("", ""))[0] == FALSE for kind in ("Accepted", "SourceReady"))
    return status == FALSE and reason not in _RESTING and not blocked
