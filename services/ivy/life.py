"""`Life`: whether the process takes new work, and how much of it is under way. Knows no server and no signal."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Life:
    """Counts requests under way; once draining, says when there are none."""

    def __init__(self) -> None:
        self.draining = False
        self.under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def request(self) -> Iterator[None]:
        """One request is under way for as long as the block lasts."""
        self.under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self.under_way -= 1
            if not self.under_way:
                self._idle.set()

    async def idle(self, timeout_s: float) -> bool:
        """Wait until nothing is under way; False when it took too long."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True
