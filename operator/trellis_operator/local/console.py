"""What a person at the terminal reads. Never on standard output, which belongs to answers."""

import sys
import time


class Console:
    """Lines with the seconds since the start, so that a slow stage shows."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def say(self, line: str) -> None:
        """Tell one thing."""
        print(f"[{self.elapsed_s:6.1f} s] {line}", file=sys.stderr, flush=True)

    def hear(self, name: str, line: str) -> None:
        """Pass on one line of a program."""
        print(f"{name:>9} | {line}", file=sys.stderr, flush=True)
