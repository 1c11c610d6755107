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
