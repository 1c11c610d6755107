"""`Failures`: what is wrong, and what raised. GPUs are lent for minutes: what raises costs its own lines of a page."""

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


def some(found: Iterable[T | None]) -> list[T]:
    """Those that are there."""
    return [each for each in found if each is not None]


@dataclass
class Failures:
    """Of one model.

    Attributes:
        model: its name.
        lines: one of each.
    """

    model: str
    lines: list[str] = field(default_factory=list)

    def add(self, what: str) -> None:
        """Something is wrong."""
        self.lines.append(f"{self.model}: {what}")

    def attempt(self, what: str, work: Callable[[], T]) -> T | None:
        """What some work gives; None, with a line here and the traceback on stderr, where it raises."""
        try:
            return work()
        except Exception as error:
            traceback.print_exc()
            self.add(f"{what}: {type(error).__name__}: {' '.join(str(error).split())}")
            return None
