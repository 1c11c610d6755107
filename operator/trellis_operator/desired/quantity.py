"""Quantities as Kubernetes writes them: `500m`, `2`, `8Gi`. Pure."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
}


def quantity(text: str | int | float) -> Decimal | None:
    """The number that a quantity stands for; None where it is not one."""
    said = str(text)
    number = said.rstrip("numkKMGTPEi")
    try:
        return Decimal(number) * _SUFFIXES[said[len(number) :]]
    except (KeyError, InvalidOperation):
        return None


def whole_cores(resources: Mapping[str, Any]) -> int:
    """CPU threads for a container: the whole cores of its limit, else of its request; 0 where neither is given."""
    for part in ("limits", "requests"):
        cores = quantity(resources.get(part, {}).get("cpu", ""))
        if cores:
            return max(1, int(cores))
    return 0
