"""How far a fetch is: counted here, shown on a terminal as a bar and elsewhere as a line every few seconds.

Never knows what is fetched.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

_WINDOW = 30
"""Reports that the rate is taken over."""


class Display(Protocol):
    """Where progress is shown."""

    every_s: float
    """Between two views."""

    def say(self, line: str) -> None:
        """Show a line that stays."""

    def show(self, view: "View") -> None:
        """Show how far it is by now."""


@dataclass(frozen=True)
class View:
    """How far it is.

    Attributes:
        name: of the file that is on its way.
        present: bytes that are here, those of earlier runs among them.
        total: bytes of all files.
        rate: bytes a second of late.
    """

    name: str
    present: int
    total: int
    rate: float

    @property
    def part(self) -> float:
        """Between 0 and 1."""
        return self.present / self.total if self.total else 1.0

    def __str__(self) -> str:
        left_s = (self.total - self.present) / self.rate if self.rate else None
        left = "" if left_s is None else f", {duration(left_s)} left"
        so_far = f"{size(self.present)} of {size(self.total)} ({100 * self.part:.0f}%)"
        return f"{so_far}, {size(self.rate)}/s{left}: {self.name}"


class Progress:
    """Counts bytes, and shows them now and then."""

    def __init__(self, display: Display, clock: Callable[[], float] = time.monotonic) -> None:
        self.total_bytes = 0
        self.present_bytes = 0
        self.received_bytes = 0
        self._display = display
        self._clock = clock
        self._name = ""
        self._began = self._shown = clock()
        self._window: deque[tuple[float, int]] = deque(maxlen=_WINDOW)

    def begin(self, total: int, present: int) -> None:
        """Begin with so many bytes in all, of which some are here from an earlier run."""
        self.total_bytes, self.present_bytes = total, present
        self._began = self._shown = self._clock()
        self._window.append((self._began, self.received_bytes))
        again = f", {size(present)} of it are here from before" if present else ""
        self.say(f"fetching {size(total)}{again}")

    def name(self, name: str) -> None:
        """Say which file is on its way."""
        self._name = name

    def add(self, count: int) -> None:
        """Count bytes that arrived."""
        self.present_bytes += count
        self.received_bytes += count
        if self._clock() - self._shown >= self._display.every_s:
            self._show()

    def take_back(self, count: int) -> None:
        """Count bytes that were here and are not any more."""
        self.present_bytes -= count

    def say(self, line: str) -> None:
        """Show a line that stays."""
        self._display.say(line)

    def end(self) -> None:
        """Say what it took."""
        seconds = self._clock() - self._began
        self.say(f"fetched {size(self.received_bytes)} in {duration(seconds)}")

    def _show(self) -> None:
        self._shown = self._clock()
        then, count = self._window[0]
        self._window.append((self._shown, self.received_bytes))
        rate = (self.received_bytes - count) / max(self._shown - then, 1e-9)
        self._display.show(View(self._name, self.present_bytes, self.total_bytes, rate))


def size(count: float) -> str:
    """Bytes in words, e.g. `1.23 GB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.2f} TB"


def duration(seconds: float) -> str:
    """Seconds in words, e.g. `2 min 5 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
