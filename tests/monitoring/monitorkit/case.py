"""`Case`: a situation in which an alert must fire, or must not."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One situation.

    Attributes:
        said: what it is, in words.
        series: values by series, one a minute.
        at: when the alert is looked at.
        fires: what its labels must be, between braces; None: it must not fire.
    """

    alert: str
    said: str
    series: Mapping[str, str]
    at: str
    fires: str | None = None
