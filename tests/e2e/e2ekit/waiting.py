"""Waiting for something to be true, with a deadline: the only way in which these tests let time pass."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
_EVERY_S = 0.3


def until(seen: Callable[[], Found], what: str, timeout_s: float = 60.0) -> Found:
    """The first true value of `seen()`; fails with `what` and the last value after `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    while not (value := seen()):
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s: {what}; last seen: {value!r}"
        time.sleep(_EVERY_S)
    return value


def throughout(seen: Callable[[], object], what: str, seconds: float) -> None:
    """Fails as soon as `seen()` is false within `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert seen(), f"it must hold for {seconds:g} s and does not: {what}"
        time.sleep(_EVERY_S)
