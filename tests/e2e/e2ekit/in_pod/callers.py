"""Callers that go on whatever they are answered. Runs in a pod, until that is deleted.

    callers.py ORDER    JSON: {http: [{url, body, at_once, pause_s}, …], of_old: [HOST:PORT, …]}

Engines of `of_old` are asked for a model that they do not have, as a gateway with old settings does.
"""

import asyncio
import contextlib
import json
import sys
from pathlib import Path

import aiohttp
import grpc
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1 import embedding_pb2_grpc

_OLD_PAUSE_S = 0.5
_TIMEOUT = aiohttp.ClientTimeout(total=60)


async def ask(session: aiohttp.ClientSession, caller: dict, number: int) -> None:
    # Together they could be one batch of an engine that then takes no other, and nothing would wait in its queue.
    await asyncio.sleep(caller["pause_s"] * number / caller["at_once"])
    while True:
        # Queues are full and engines die: a call that is not answered is what these callers are there for.
        with contextlib.suppress(aiohttp.ClientError, TimeoutError, OSError):
            async with session.post(f"{caller['url']}/v1/embeddings", json=caller["body"]) as response:
                await response.read()
        await asyncio.sleep(caller["pause_s"])


async def ask_for_another(address: str) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        stub = embedding_pb2_grpc.EmbeddingStub(channel)
        while True:
            with contextlib.suppress(grpc.RpcError):
                await stub.Embed(pb.EmbedRequest(model_digest="of old"), timeout=10)
            await asyncio.sleep(_OLD_PAUSE_S)


async def main(order: dict) -> None:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=_TIMEOUT) as session:
        await asyncio.gather(
            *(ask(session, caller, number) for caller in order["http"] for number in range(caller["at_once"])),
            *(ask_for_another(address) for address in order["of_old"]),
        )


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
