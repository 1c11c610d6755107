"""Something that is done again and again in a thread of its own, while a test goes on."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from e2ekit.waiting import Found, until


class Repeated:
    """What is done, and how it goes.

    Attributes:
        error: what the last time raised; None: it went well.
    """

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._went = False
        self.error: Exception | None = None

    def turn(self) -> None:
        """Once more. A machine that is short of time lets one fail, and the next one may not."""
        try:
            self._act()
        except Exception as error:
            self.error = error
        else:
            self.error, self._went = None, True

    def until(self, seen: Callable[[], Found], what: str, timeout_s: float) -> Found:
        """As `waiting.until`, of what is seen by this; where it does not go well, the failure says why."""
        try:
            return until(seen, what, timeout_s)
        except AssertionError as failure:
            if self.error is None:
                raise
            raise AssertionError(f"{failure}; the last try to see: {self.error!r}") from self.error

    def check(self) -> None:
        """Fails where it never went well."""
        if self.error is not None and not self._went:
            raise AssertionError(f"it never went well: {self.error!r}") from self.error


@contextmanager
def repeating(repeated: Repeated, every_s: float) -> Iterator[None]:
    """It is done at once and then with pauses of `every_s` seconds, however it goes.

    It must come to an end by itself. What never went well until the end fails the test.
    """
    over = threading.Event()

    def go_on() -> None:
        while True:
            repeated.turn()
            if over.wait(every_s):
                return

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    repeated.check()
