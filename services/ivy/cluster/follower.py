"""`Follower`: keeps a set of engines, or of gateways, as the cluster has it. List, watch, list again; for ever.

A watch is a hint and no more: whatever ends it, and every few minutes without a reason, the whole list is read again,
so that an event that was missed is never missed for long. What was known stays until there is better knowledge.
Between the lines of a watch nothing is asked of anybody: an event is read, the set is replaced.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from random import Random

import aiohttp

from ivy.client.target import Standing, Target
from ivy.cluster.api import Connected, SliceApi
from ivy.cluster.backends import Backend, Slice, State, merged
from ivy.cluster.wire import Gone, Put, read_event
from ivy.errors import SyncFailed
from ivy.metrics import DiscoveryMetrics

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things may take."""

    list_deadline_s: float = 30.0
    stall_s: float = 150.0
    """Silence after which a watch counts as dead. A server sends a bookmark about every minute."""
    relist_s: float = 240.0
    """Until the whole list is read again; a fifth more or less, so that gateways do not do it all at once."""
    first_pause_s: float = 0.5
    """Before the next list; doubles with each failure in a row."""
    longest_pause_s: float = 5.0
    settled_s: float = 10.0
    """A list and its watch that lasted this long were no failure, whatever ended them."""


class Follower:
    """Tells `publish` the whole set whenever it may have changed."""

    def __init__(
        self,
        api: SliceApi,
        publish: Callable[[list[Target]], None],
        metrics: DiscoveryMetrics,
        pace: Pace = Pace(),
        random: Random | None = None,
    ) -> None:
        self._api = api
        self._publish = publish
        self._metrics = metrics
        self._pace = pace
        self._random = random or Random()  # noqa: S311 (spreads load, keeps no secret)
        self._slices: dict[str, Slice] = {}
        self._known: frozenset[Backend] | None = None
        self._failures = 0
        self._complaint = ""
        self._heard = time.monotonic()
        metrics.age.set_function(lambda: time.monotonic() - self._heard)

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            began = time.monotonic()
            try:
                reason = await self._cycle()
            except SyncFailed as error:
                reason = error.reason
                self._complain(str(error))
            self._metrics.restarts[reason].inc()
            lasted_s = time.monotonic() - began
            self._failures = 0 if lasted_s >= self._pace.settled_s else self._failures + 1
            await asyncio.sleep(self._pause_s())

    async def _cycle(self) -> str:
        """One list, and one watch from there on; says why the watch ended.

        Raises:
            SyncFailed: the list could not be had, or the watch broke.
        """
        async with self._api.connected() as connected:
            version = await self._list(connected)
            return await self._watch(connected, version)

    async def _list(self, connected: Connected) -> str:
        try:
            listed = await connected.list(self._pace.list_deadline_s)
        except (SyncFailed, aiohttp.ClientError, OSError):
            self._metrics.lists["failed"].inc()
            raise
        self._metrics.lists["ok"].inc()
        self._slices = {each.name: each for each in listed.slices}
        self._took()
        return listed.version

    async def _watch(self, connected: Connected, version: str) -> str:
        relist_s = self._pace.relist_s * self._random.uniform(0.8, 1.2)
        due = time.monotonic() + relist_s
        async with aclosing(connected.watch(version, relist_s)) as events:
            while True:
                left_s = due - time.monotonic()
                try:
                    async with asyncio.timeout(min(self._pace.stall_s, left_s)):
                        line = await anext(events, None)
                except TimeoutError:
                    if left_s <= self._pace.stall_s:
                        return "due"
                    raise SyncFailed("stalled", f"the watch was silent for {self._pace.stall_s:g} s") from None
                if line is None:
                    return "ended"
                self._apply(line)

    def _apply(self, line: bytes) -> None:
        match read_event(line):
            case Put(slice=found):
                self._slices[found.name] = found
            case Gone(name=name):
                self._slices.pop(name, None)
        self._took()

    def _took(self) -> None:
        """The API server said something: what it says is the set."""
        self._heard = time.monotonic()
        if self._complaint:
            _log.info("the addresses of %s are read again", self._metrics.whom)
            self._complaint = ""
        known = merged(self._slices.values())
        if known == self._known:
            return
        self._known = known
        for state in State:
            self._metrics.known[state.name.lower()].set(sum(each.state is state for each in known))
        self._publish(targets(known))

    def _complain(self, text: str) -> None:
        """Say a trouble once, not each time that it is met."""
        if text != self._complaint:
            whom, known = self._metrics.whom, len(self._known or ())
            _log.warning("the addresses of %s cannot be read, %d known ones stay: %s", whom, known, text)
        self._complaint = text

    def _pause_s(self) -> float:
        longest = min(self._pace.first_pause_s * 2.0 ** min(self._failures, 30), self._pace.longest_pause_s)
        return self._random.uniform(0.5, 1.0) * longest


_STANDINGS = {
    State.READY: Standing.READY,
    State.NOT_READY: Standing.UNREADY,
    State.TERMINATING: Standing.LEAVING,
}


def targets(known: frozenset[Backend]) -> list[Target]:
    """The engines as those who ask them want to know them."""
    ordered = sorted(known, key=lambda each: each.address)
    return [Target(each.address, each.instance, _STANDINGS[each.state], each.pod) for each in ordered]
