"""Callers make no series: whatever they send, a gateway shows as many as before."""

import asyncio
import http.client
from collections import Counter
from pathlib import Path

import aiohttp
import pytest
from monitorkit.programs import start_gateway
from roadkit import http as roadhttp
from roadkit.program import Programs
from roadkit.stack import Starter

pytestmark = pytest.mark.processes

_COUNT = 10_000
_AT_ONCE = 16
_KEY = "a-key-for-tests-only"


def series(url: str) -> set[str]:
    """Names and labels of all that `/metrics` shows."""
    lines = roadhttp.get(f"{url}/metrics").body.decode().splitlines()
    return {line.rsplit(" ", 1)[0] for line in lines if not line.startswith("#")}


async def send(url: str) -> Counter[int]:
    """10,000 made-up models under a good key, and as many made-up keys on made-up paths; counts statuses."""
    statuses: Counter[int] = Counter()
    numbers = iter(range(_COUNT))

    async def one(client: aiohttp.ClientSession) -> None:
        for number in numbers:
            body, good = {"model": f"model-{number}", "input": "a"}, {"authorization": f"Bearer {_KEY}"}
            async with client.post(f"{url}/v1/embeddings", json=body, headers=good) as answer:
                statuses[answer.status] += 1
            bad = {"authorization": f"Bearer key-{number}", "x-request-id": f"id-{number}"}
            async with client.get(f"{url}/v1/path-{number}", headers=bad) as answer:
                statuses[answer.status] += 1

    async with aiohttp.ClientSession() as client, asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(one(client))
    return statuses


@pytest.mark.timeout(900)
async def test_ten_thousand_made_up_models_keys_and_paths_leave_the_series_as_they_were(
    programs: Programs, starter: Starter, minilm: Path, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    keys.write_text(_KEY, encoding="utf-8")
    engine = starter.engine("--threads", "1")
    gateway = start_gateway(programs, minilm, "--engines", engine.address, "--api-keys-file", str(keys))
    before = await asyncio.to_thread(series, gateway.url)
    engines = await asyncio.to_thread(_engine_series, engine.metrics_url)
    statuses = await send(gateway.url)
    assert statuses == {http.client.NOT_FOUND: _COUNT, http.client.UNAUTHORIZED: _COUNT}
    assert await asyncio.to_thread(series, gateway.url) == before
    assert await asyncio.to_thread(_engine_series, engine.metrics_url) == engines
    assert any('route="other",status="401"' in each for each in before)
    programs.stop(gateway.program, engine.program)


def _engine_series(url: str) -> set[str]:
    return series(url.removesuffix("/metrics"))
