"""`Target`: one engine that should be asked, as whoever knows the set names it. Knows not where it was found."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """One engine of the set."""

    address: str
    """HOST:PORT."""
    instance: str = ""
    """Tells a new engine from an old one at the same address; empty where nobody knows."""
    recommended: bool = True
    """Whether it counts as ready where it was found. One that does not is asked only when no other can answer."""
