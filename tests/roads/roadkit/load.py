"""Load against a gateway on this machine, as much as asked and no longer. Never knows what is right."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import aiohttp

BROKEN = 0
"""The status of a request that got no answer: refused, cut off, or not answered within the session's time."""

_TIMEOUT = aiohttp.ClientTimeout(total=120)


@dataclass(frozen=True)
class Outcome:
    """One request and what came of it."""

    status: int
    seconds: float
    retry_after: str | None


@dataclass
class Tally:
    """All requests of one load."""

    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def statuses(self) -> Counter[int]:
        return Counter(each.status for each in self.outcomes)

    def quantile(self, status: int, share: float) -> float:
        """Seconds within which `share` of the answers with this status came."""
        seconds = sorted(each.seconds for each in self.outcomes if each.status == status)
        assert seconds, f"no answer had status {status}: {self.statuses}"
        return seconds[min(len(seconds) - 1, int(share * len(seconds)))]


def session() -> aiohttp.ClientSession:
    """A client with a new connection for each request, so that no test meets a connection that idles to its end."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True), timeout=_TIMEOUT)


async def send(client: aiohttp.ClientSession, url: str, inputs: object) -> Outcome:
    """One embeddings request."""
    start = time.monotonic()
    body = {"model": "minilm", "input": inputs, "encoding_format": "base64"}
    try:
        async with client.post(f"{url}/v1/embeddings", json=body) as response:
            await response.read()
            status, after = response.status, response.headers.get("retry-after")
    except (aiohttp.ClientError, TimeoutError):
        status, after = BROKEN, None
    return Outcome(status, time.monotonic() - start, after)


async def keep_busy(
    url: str, inputs: Sequence[object], clients: int, meanwhile: Callable[[Tally], Awaitable[None]]
) -> Tally:
    """Let `clients` send one request after the other until `meanwhile` has returned."""
    tally = Tally()
    over = asyncio.Event()

    async def one(number: int) -> None:
        while not over.is_set():
            tally.outcomes.append(await send(client, url, inputs[(number + len(tally.outcomes)) % len(inputs)]))

    async with session() as client, asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(one(number))
        try:
            await meanwhile(tally)
        finally:
            over.set()
    return tally


async def offer(url: str, inputs: Sequence[object], per_second: float, seconds: float) -> Tally:
    """Send requests at a steady pace, whether or not the earlier ones were answered; waits for all answers."""
    tally = Tally()

    async def one(number: int) -> None:
        tally.outcomes.append(await send(client, url, inputs[number % len(inputs)]))

    start = time.monotonic()
    async with session() as client, asyncio.TaskGroup() as group:
        for number in range(int(per_second * seconds)):
            await asyncio.sleep(start + number / per_second - time.monotonic())
            group.create_task(one(number))
    return tally
