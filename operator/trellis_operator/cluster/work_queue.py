"""The models that want a visit: each at most once, never by two workers at once, later ones when their time comes."""

import asyncio
import heapq
import time
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")


class WorkQueue(Generic[K]):
    """A bounded queue by nature: a key is in it once, however often it is added."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._order = 0
        self._active: set[K] = set()
        self._changed = asyncio.Event()

    def add(self, key: K, delay_s: float = 0.0) -> None:
        """Ask for a visit in `delay_s` seconds, or sooner where one is asked for sooner."""
        at = self._clock() + delay_s
        if at >= self._due.get(key, float("inf")):
            return
        self._due[key] = at
        self._order += 1
        heapq.heappush(self._heap, (at, self._order, key))
        self._changed.set()

    def forget(self, key: K) -> None:
        """No visit any more, unless it is asked for again."""
        self._due.pop(key, None)

    async def get(self) -> K:
        """The next key whose time has come and that no worker has; it is this worker's until `done`."""
        while True:
            self._changed.clear()
            key, wait_s = self._next()
            if key is not None:
                self._active.add(key)
                return key
            try:
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def done(self, key: K) -> None:
        """The visit ended; what was asked for meanwhile comes next."""
        self._active.discard(key)
        if key in self._due:
            self._order += 1
            heapq.heappush(self._heap, (self._due[key], self._order, key))
        self._changed.set()

    def waiting(self) -> int:
        """Keys whose time has come."""
        now = self._clock()
        return sum(at <= now for at in self._due.values())

    def oldest_s(self) -> float:
        """For how long the longest waiting key waits."""
        now = self._clock()
        return max([0.0, *(now - at for key, at in self._due.items() if key not in self._active)])

    def _next(self) -> tuple[K | None, float | None]:
        """A key to visit now, else the seconds until the first one's time; entries that were overtaken are dropped."""
        while self._heap:
            at, _, key = self._heap[0]
            if self._due.get(key) != at or key in self._active:
                heapq.heappop(self._heap)
                continue
            if at > self._clock():
                return None, at - self._clock()
            heapq.heappop(self._heap)
            del self._due[key]
            return key, None
        return None, None
