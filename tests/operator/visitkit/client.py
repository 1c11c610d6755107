"""A client of an API server of a few lines, which serves for as long as the client is used."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from kubernetes.aio.client import ApiClient, Configuration


@asynccontextmanager
async def client_of(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[ApiClient]:
    """Serve every path and method by `answer`, and give a client that asks there."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    client = ApiClient(Configuration(host=f"http://127.0.0.1:{runner.addresses[0][1]}"))
    try:
        yield client
    finally:
        await client.close()
        await runner.cleanup()
