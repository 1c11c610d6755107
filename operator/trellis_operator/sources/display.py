"""Shows progress on a stream: a bar on a terminal, lines elsewhere. Never counts anything."""

import sys
from collections.abc import Callable
from typing import TextIO

from trellis_operator.sources.progress import Display, View

_BAR_CELLS = 24
_CLEAR = "\r\x1b[K"


class Bar:
    """One line that is written over; lines that stay push it down."""

    every_s = 0.2

    def __init__(self, stream: TextIO, say: Callable[[str], None]) -> None:
        self._stream = stream
        self._say = say

    def say(self, line: str) -> None:
        """Show a line that stays, in place of the bar."""
        self._stream.write(_CLEAR)
        self._say(line)

    def show(self, view: View) -> None:
        """Write the bar over the last one."""
        done = int(_BAR_CELLS * view.part)
        self._stream.write(f"{_CLEAR}[{'#' * done}{'.' * (_BAR_CELLS - done)}] {view}")
        self._stream.flush()


class Lines:
    """A line every few seconds: for logs."""

    every_s = 5.0

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def say(self, line: str) -> None:
        """Show a line."""
        self._say(line)

    def show(self, view: View) -> None:
        """Show a line."""
        self._say(str(view))


def display(say: Callable[[str], None]) -> Display:
    """A bar when standard error is a terminal, else lines; `say` prints one line there."""
    return Bar(sys.stderr, say) if sys.stderr.isatty() else Lines(say)
