"""Waiting for something to be true, with a deadline: the only way in which these tests let time pass."""

import asyncio
import time
from collections.abc import Callable

_EVERY_S = 0.05


def until(condition: Callable[[], object], what: str, timeout_s: float = 30.0) -> None:
    """Wait until `condition()` holds; fails with `what` after `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s: {what}"
        time.sleep(_EVERY_S)


async def until_async(condition: Callable[[], object], what: str, timeout_s: float = 30.0) -> None:
    """`until`, while the event loop goes on; the condition runs in a thread."""
    deadline = time.monotonic() + timeout_s
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s: {what}"
        await asyncio.sleep(_EVERY_S)
