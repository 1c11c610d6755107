"""`Pace`: when a watch does something by itself, be it of children or of models."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """Times of the watches of an operator.

    Attributes:
        relist_s: after this long a new list of children is asked for, whatever the watch told.
        watch_s: the API server ends a watch after this long.
        silence_s: a watch that says nothing for longer is dead; bookmarks come every minute.
        first_pause_s: after a failure of a watch of children; it doubles up to `last_pause_s`.
        refused_s: up to which it doubles where the API server says that a kind of children is none that we may list.
    """

    relist_s: float = 600.0
    watch_s: int = 290
    silence_s: float = 80.0
    first_pause_s: float = 0.5
    last_pause_s: float = 15.0
    refused_s: float = 120.0
