"""Something that is done again and again in a thread of its own, while a test goes on."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeating(act: Callable[[], object], every_s: float) -> Iterator[None]:
    """`act` is called at once and then with pauses of `every_s` seconds; what it raises fails the test."""
    over = threading.Event()

    def go_on() -> None:
        while True:
            act()
            if over.wait(every_s):
                return

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
