"""How soon the gateway says that it has no room: `python -m bench.refusals`.

First callers who wait for their answers tell what one engine and one gateway can do. Then, in turns that the seed
orders, requests come at multiples of that, at random moments and whether or not others were answered, as from many
independent callers. Shown are the times of what was refused (429) and of what was accepted. Callers share the machine.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from random import Random

import aiohttp

from bench.models import minilm
from bench.record import surroundings, table, write
from bench.servers import Server, trellis
from bench.workload import SEED, of_length

_PACKAGES = ("torch", "aiohttp", "grpcio")
_TEXTS, _TOKENS = 8, 128
_WAITING = 16
"""Requests that may wait in the engine's queue, about."""
_CALLERS = 3
_GOAL_S = 0.050
_BROKEN = 0
"""The status of what got no answer."""
_TIMEOUT = aiohttp.ClientTimeout(total=120)


@dataclass(frozen=True)
class Answer:
    """What came of a request.

    Attributes:
        status: of HTTP.
        seconds: from its begin to the last byte.
        told: whether it says when to come again, in both headers.
    """

    status: int
    seconds: float
    told: bool


class Callers:
    """Any number of callers of one server, each with a connection of its own."""

    def __init__(self, server: Server, bodies: Sequence[str]) -> None:
        self._url, self._bodies = server.url, cycle(bodies)
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), timeout=_TIMEOUT, headers={"content-type": "application/json"}
        )

    async def capacity(self, seconds: float) -> float:
        """Answers a second to a few who wait."""
        end = time.monotonic() + seconds

        async def one() -> int:
            answered = 0
            while time.monotonic() < end:
                answered += (await self._ask()).status == 200
            return answered

        return sum(await asyncio.gather(*(one() for _ in range(_CALLERS)))) / seconds

    async def offer(self, rate: float, seconds: float, random: Random) -> list[Answer]:
        """As many requests a second, and all that came of them."""
        end, asked = time.monotonic() + seconds, []
        while time.monotonic() < end:
            asked.append(asyncio.create_task(self._ask()))
            await asyncio.sleep(random.expovariate(rate))
        return await asyncio.gather(*asked)

    async def close(self) -> None:
        """End all connections."""
        await self._client.close()

    async def _ask(self) -> Answer:
        began = time.perf_counter()
        try:
            async with self._client.post(self._url, data=next(self._bodies)) as response:
                await response.read()
                told = {"retry-after", "retry-after-ms"} <= {name.lower() for name in response.headers}
                return Answer(response.status, time.perf_counter() - began, told)
        except (aiohttp.ClientError, TimeoutError):
            return Answer(_BROKEN, time.perf_counter() - began, told=False)


def main() -> None:
    """Run, print the table and write it to `bench/results`."""
    options = _options()
    around = surroundings(_PACKAGES)
    bound = ("--max-queued-tokens", str(_WAITING * _TEXTS * _TOKENS))
    with trellis(1, "float32", engine_flags=bound, gateway_flags=bound) as server:
        capacity, answers = asyncio.run(_measure(server, options))
    text = (
        f"Requests of {_TEXTS} texts of {_TOKENS} tokens, some {_WAITING} of which may wait; {capacity:.1f} a second "
        f"are answered to {_CALLERS} who wait. {options.turns} turns of {options.seconds:.0f} s of each offer. "
        f"Goal: a refusal in less than {1000 * _GOAL_S:.0f} ms. Milliseconds."
    )
    data = {str(times): [vars(each) for each in found] for times, found in answers.items()}
    path = write("refusals", "How soon it refuses", around, [("Times", f"{text}\n\n{_times(answers)}")], data)
    print(path.read_text(encoding="utf-8"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3, help="Of each offer.")
    parser.add_argument("--seconds", type=float, default=15, help="Of one turn.")
    parser.add_argument("--offers", type=float, nargs="+", default=[3.0, 10.0], help="Times what it can do.")
    return parser.parse_args()


async def _measure(server: Server, options: argparse.Namespace) -> tuple[float, dict[float, list[Answer]]]:
    texts = list(islice(of_length(minilm(), _TOKENS), 20 * _TEXTS))
    callers = Callers(server, [server.body(texts[start : start + _TEXTS]) for start in range(0, len(texts), _TEXTS)])
    random = Random(SEED)
    try:
        await callers.capacity(2)
        capacity = await callers.capacity(5)
        answers: dict[float, list[Answer]] = {times: [] for times in options.offers}
        for _ in range(options.turns):
            for times in random.sample(options.offers, len(options.offers)):
                answers[times] += await callers.offer(times * capacity, options.seconds, random)
        return capacity, answers
    finally:
        await callers.close()


def _times(answers: dict[float, list[Answer]]) -> str:
    kinds = ("429: requests", "all say when to come again", "p50", "p99", "longest", "below the goal")
    header = ["offered", *kinds, "200: requests", "p50", "p99", "other"]
    return table(header, [[f"{times:g} times", *_row(found)] for times, found in answers.items()])


def _row(answers: list[Answer]) -> list[str]:
    refused = [each for each in answers if each.status == 429]
    quick = sum(each.seconds < _GOAL_S for each in refused) / max(len(refused), 1)
    told = "yes" if all(each.told for each in refused) else "NO"
    accepted = [each for each in answers if each.status == 200]
    others = len(answers) - len(refused) - len(accepted)
    longest = f"{1000 * max((each.seconds for each in refused), default=0):,.1f}"
    times = (_quantile(refused, 0.5), _quantile(refused, 0.99), longest)
    return [
        *(str(len(refused)), told, *times, f"{100 * quick:.2f} %"),
        *(str(len(accepted)), _quantile(accepted, 0.5), _quantile(accepted, 0.99), str(others)),
    ]


def _quantile(answers: list[Answer], share: float) -> str:
    seconds = sorted(each.seconds for each in answers)
    return f"{1000 * seconds[min(len(seconds) - 1, int(share * len(seconds)))]:,.1f}" if seconds else "-"


if __name__ == "__main__":
    main()
