"""`Target`: one engine that should be asked, as whoever knows the set names it. Knows not where it was found."""

from dataclasses import dataclass
from enum import Enum, auto


class Standing(Enum):
    """What is said of an engine where it was found. Its own word is asked as well."""

    READY = auto()
    UNREADY = auto()
    """Asked only while none that is ready can answer."""
    LEAVING = auto()
    """On its way out: gets nothing new, unless no other engine can answer and it still does."""


@dataclass(frozen=True, slots=True)
class Target:
    """One engine of the set."""

    address: str
    """HOST:PORT."""
    instance: str = ""
    """Tells a new engine from an old one at the same address; empty where nobody knows."""
    standing: Standing = Standing.READY
    pod: str = ""
    """Its name; empty where nobody knows."""
    warm: bool = False
    """Whether it has been at work for others: it needs no slow start."""
