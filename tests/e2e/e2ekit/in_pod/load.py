"""Steady load on a gateway, from inside the cluster. Runs in a pod, prints what it counts as one JSON line a second.

    load.py ORDER    JSON: {url, model, inputs: [[text, …], …], known: {NAME: [[base64, …], …]}, clients, pause_s,
                     tolerance}

An answer with status 200 is right when all of its vectors are those of one and the same name in `known`.
Ends when /tmp/stop exists.
"""

import asyncio
import base64
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import aiohttp
import numpy as np

_TIMEOUT = aiohttp.ClientTimeout(total=120)


def told_to_stop() -> bool:
    return os.path.exists("/tmp/stop")


class Load:
    """Requests of `order`, and what came of them."""

    def __init__(self, order: dict) -> None:
        self.order = order
        self.known = {
            name: [np.stack([_vector(each) for each in rows]) for rows in answers]
            for name, answers in order["known"].items()
        }
        self.statuses: Counter[str] = Counter()
        self.right: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.complaints: Counter[str] = Counter()
        self.slowest_s = 0.0
        self.sent = 0

    def line(self) -> str:
        return json.dumps(
            {
                "at": time.time(),
                "statuses": self.statuses,
                "right": self.right,
                "wrong": len(self.wrong),
                "examples": self.wrong[:5],
                "complaints": dict(self.complaints.most_common(8)),
                "slowest_s": round(self.slowest_s, 3),
            }
        )

    async def client(self, session: aiohttp.ClientSession) -> None:
        while not told_to_stop():
            index = self.sent % len(self.order["inputs"])
            self.sent += 1
            await self.request(session, index)
            await asyncio.sleep(self.order["pause_s"])

    async def request(self, session: aiohttp.ClientSession, index: int) -> None:
        body = {"model": self.order["model"], "input": self.order["inputs"][index], "encoding_format": "base64"}
        start = time.monotonic()
        try:
            async with session.post(f"{self.order['url']}/v1/embeddings", json=body) as response:
                text = await response.text()
                status = response.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            text, status = f"{type(error).__name__}: {error}", 0
        self.slowest_s = max(self.slowest_s, time.monotonic() - start)
        self.statuses[str(status)] += 1
        if status == 200:
            self.check(index, json.loads(text))
        else:
            self.complaints[f"{status} {text[:200]}"] += 1
            await asyncio.sleep(0.05)

    def check(self, index: int, answer: dict) -> None:
        rows = np.stack([_vector(each["embedding"]) for each in answer["data"]])
        away = {name: _distance(rows, answers[index]) for name, answers in self.known.items()}
        nearest = min(away, key=away.__getitem__)
        if away[nearest] <= self.order["tolerance"]:
            self.right[nearest] += 1
        else:
            self.wrong.append(f"input {index}: {away}")


def _vector(encoded: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(encoded), "<f4")


def _distance(rows: np.ndarray, known: np.ndarray) -> float:
    return float(np.abs(rows - known).max()) if rows.shape == known.shape else float("inf")


async def meet(session: aiohttp.ClientSession, url: str) -> None:
    """Wait until this node's proxy knows the gateways; what is not reached in 30 s is counted by the load itself."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            async with session.get(f"{url}/healthz") as response:
                if response.status == 200:
                    return
        except (aiohttp.ClientError, TimeoutError, OSError):
            pass
        await asyncio.sleep(0.1)


async def main(order: dict) -> None:
    load = Load(order)
    # A connection for each request: a Service balances connections, not requests.
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(connector=connector, timeout=_TIMEOUT) as session:
        await meet(session, order["url"])
        clients = [asyncio.create_task(load.client(session)) for _ in range(order["clients"])]
        while not told_to_stop():
            print(load.line(), flush=True)
            await asyncio.wait(clients, timeout=1)
        await asyncio.gather(*clients)
    print(load.line(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
